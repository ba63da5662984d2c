"""Terminal output: a live block on a TTY, plain lines in a pipe or a log. Output errors never stop a run."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from framework.errors import silence

Row = tuple[str, str]
"""Label and text."""
LIVE_SECONDS = 0.125
"""Seconds between two pictures of the live block."""
PLAIN_SECONDS = 10.0
"""Seconds between two plain lines of progress."""
ROOM_FOR_ECHO = 3
"""Columns that the live block leaves free: the ^C that a terminal echoes must not wrap, which would move the block."""
STEPS_OF_PROGRESS = 10
"""Parts of the run after each of which a plain line is due in any case."""


def kernel() -> Any:
    """Returns the shell of the notebook that this process is the kernel of; None in any other program."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return shell if hasattr(shell, "kernel") else None


class Screen:
    """Destination of the console's output. This one shows nothing."""

    interval = float("inf")
    """Seconds between two calls of `draw`."""

    def draw(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        """Shows the present progress, in place of the last picture where that is possible."""

    def say(self, text: str, style: str = "") -> None:
        """Prints a line that stays. style: color, for a terminal that has colors."""

    def settle(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        """Leaves the last progress behind."""
        self.close()
        if head:
            self.say(line(head, rows))

    def close(self) -> None:
        """Removes the live block."""


def line(head: str, rows: Sequence[Row]) -> str:
    """Returns progress in a line."""
    return " | ".join([head, *(f"{label} {text}" for label, text in rows)])


def choose(stream: TextIO | None) -> Screen:
    """Returns the live screen for a capable terminal, else plain lines. NO_COLOR removes the colors only."""
    steady = Steady(stream)
    return Live(steady) if _capable(steady) else Plain(steady)


def _capable(stream: "Steady | TextIO") -> bool:
    return bool(stream.isatty()) and os.environ.get("TERM", "dumb") != "dumb"


def print_error(text: str) -> None:
    """Prints an error to stderr, in red on a terminal with colors."""
    stream = Steady(sys.stderr)
    if _capable(stream) and not os.environ.get("NO_COLOR"):
        text = f"\x1b[31m{text}\x1b[0m"
    stream.write(text + "\n")
    stream.flush()


class Steady:
    """Text stream that never raises: it replaces characters that the encoding lacks, and goes silent once its reader
    is gone."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        self._try(lambda stream: stream.write(text.encode(self.encoding, "replace").decode(self.encoding)))
        return len(text)

    def flush(self) -> None:
        self._try(lambda stream: stream.flush())

    def isatty(self) -> bool:
        return bool(self._try(lambda stream: stream.isatty()))

    def fileno(self) -> int:
        if self._stream is None:
            raise OSError("closed")
        return self._stream.fileno()

    def _try(self, work: Callable[[TextIO], Any]) -> Any:
        if self._stream is None:
            return None
        try:
            return work(self._stream)
        except (OSError, ValueError):
            silence(self._stream)  # other writers and the interpreter's exit do not fail either
            self._stream = None
            return None


class Plain(Screen):
    """Prints a line now and then, for files and pipes."""

    interval = 1.0

    def __init__(self, stream: Steady) -> None:
        self._stream = stream
        self._next = time.monotonic() + PLAIN_SECONDS
        self._reached = 0

    def draw(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        reached = int((fraction or 0) * STEPS_OF_PROGRESS)
        if reached <= self._reached and time.monotonic() < self._next:
            return
        self._reached, self._next = reached, time.monotonic() + PLAIN_SECONDS
        self.say(line(head, rows))

    def say(self, text: str, style: str = "") -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class Live(Screen):
    """Redraws a block in place, below the lines that stay."""

    interval = LIVE_SECONDS

    def __init__(self, stream: Steady) -> None:
        from rich.console import Console as RichConsole

        terminal: Any = stream
        self._rich = RichConsole(file=terminal, force_terminal=True, highlight=False, markup=False, emoji=False)
        self._live: Any = None
        self._drawing = False
        self._postponed = ""
        """Text of `announce` that waits until the picture is drawn."""

    def draw(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        from rich.constrain import Constrain
        from rich.live import Live as RichLive

        self._drawing = True
        if self._live is None:
            self._live = RichLive(console=self._rich, auto_refresh=False, transient=True, vertical_overflow="crop")
            self._live.start()
            _shown.add(self)
        block = Constrain(_block(fraction, head, rows), self._rich.width - ROOM_FOR_ECHO)
        self._live.update(block, refresh=True)
        self._drawing = False
        if self._postponed:
            text, self._postponed = self._postponed, ""
            announce(text)

    def say(self, text: str, style: str = "") -> None:
        self._rich.print(text, style=style or None, soft_wrap=True)

    def close(self) -> None:
        _shown.discard(self)
        if self._live is not None:
            self._live.stop()
            self._live = None

    def postpone(self, text: str) -> bool:
        """Keeps a text for `announce` and returns True, if a picture is being drawn."""
        self._postponed = text if self._drawing else ""
        return self._drawing


_shown: set[Live] = set()
"""Live screens with a block on the terminal."""


def announce(text: str) -> None:
    """Prints a line to stderr from a signal handler. A live block is removed first, and comes again below the line; it
    and the line would garble each other."""
    for screen in list(_shown):
        if screen.postpone(text):
            return
        screen.close()
    # os.write is safe in a signal handler; print may be in the middle of a line
    with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
        os.write(sys.stderr.fileno(), f"\n{text}\n".encode())


def _block(fraction: float | None, head: str, rows: Sequence[Row]) -> Any:
    """Returns a bar with the head beside it, and the rows below; lines too long for the window are wrapped."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    top = Table.grid(padding=(0, 2))
    if fraction is not None:
        bar = ProgressBar(total=1.0, completed=fraction, width=30, complete_style="cyan", finished_style="green")
        top.add_row(bar, Text(head))
    else:
        top.add_row(Text(head))
    table = Table.grid(padding=(0, 2))
    for label, text in rows:
        table.add_row(Text(label, style="dim", no_wrap=True), Text(text))
    return Group(top, table)
