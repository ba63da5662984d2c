"""The logger of the program; log lines of other processes, which the process that drives the run logs."""

import contextlib
import logging
from collections.abc import Iterator, Mapping

LOGGER = logging.getLogger("joystick")

Line = tuple[int, str]
"""Level and text of a log line."""


def level_of(name: str) -> int:
    """Returns the level of the logger for general_cfg.log_level. Warnings always pass: the terminal shows them."""
    return min(logging.getLevelNamesMapping()[name.upper()], logging.WARNING)


class Lines(logging.Handler):
    """Keeps the lines that are logged within `captured`, until they are taken."""

    def __init__(self, level: str) -> None:
        super().__init__()
        self._level = level_of(level)
        self._lines: list[Line] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append((record.levelno, record.getMessage()))

    @contextlib.contextmanager
    def captured(self) -> Iterator[None]:
        """Keeps what is logged meanwhile, and passes it to nothing else."""
        before = LOGGER.handlers, LOGGER.level, LOGGER.propagate
        LOGGER.handlers, LOGGER.propagate = [self], False
        LOGGER.setLevel(self._level)
        try:
            yield
        finally:
            LOGGER.handlers, LOGGER.propagate = before[0], before[2]
            LOGGER.setLevel(before[1])

    def take(self) -> list[Line]:
        """Returns the lines since the last call."""
        taken, self._lines = self._lines, []
        return taken


def repeat(source: str, lines: list[Line]) -> None:
    """Logs the lines of another process."""
    for level, text in lines:
        LOGGER.log(level, "%s: %s", source, text)


def first_shapes(name: str, columns: Mapping[str, object]) -> None:
    """Logs the shapes and dtypes of the first fragment or the first chunk, at level debug."""
    shapes = (f"{name} {getattr(v, 'dtype', '')} {list(getattr(v, 'shape', []))}" for name, v in columns.items())
    LOGGER.debug("first %s: %s", name, ", ".join(shapes))
