"""Lines of code that an error has passed: those of the user, and those of this program and of packages."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from config.program import ROOT
from config.tell.language import tr

OURS = (
    *(f"{ROOT / package}/" for package in ("algos", "config", "envs", "framework")),
    *(str(ROOT / file) for file in ("joystick.py", "main.py")),
    contextlib.__file__,
)
"""Beginnings of the paths of this program's files, and of what only passes its calls on."""
_SENT = "<dynamic-code>"
"""File of a class or function of the main program that cloudpickle has sent to another process; its lines are those of
the program."""
_LIBRARIES = {"site-packages", "dist-packages"}
"""Folders of installed packages."""


def is_own(file: str) -> bool:
    """Returns True for a file or a cell of a notebook that is neither of this program nor of Python and its
    packages."""
    exists = os.path.isfile(file) or "ipykernel_" in file or file == _SENT
    if not exists or file.startswith((*OURS, os.path.dirname(os.__file__) + os.sep)):
        return False
    return not _LIBRARIES & set(Path(file).parts)


def last_line(error: BaseException) -> tuple[str, int]:
    """Returns file and number of the last line of the user that an error has passed; where there is none, of the line
    that raised it."""
    lines = [(line.tb_frame.f_code.co_filename, line.tb_lineno) for line in each(error.__traceback__)]
    file, number = next((line for line in reversed(lines) if is_own(line[0])), lines[-1])
    return tr("the program") if file == _SENT else file, number


def each(lines: TracebackType | None) -> Iterator[TracebackType]:
    """Yields the lines of a traceback, the one that raised the error last."""
    while lines is not None:
        yield lines
        lines = lines.tb_next
