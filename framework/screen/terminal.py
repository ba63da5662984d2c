"""Terminal output: a live block on a TTY, plain lines in a pipe or a log. Output errors never stop a run.

Two threads write to a screen: the one that works, and the one that shows what it is at (stages.py)."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from config.system.processes import at_fork
from config.system.terminal import bytes_for, obeys_escapes
from config.tell.language import tr
from framework.errors import silence
from framework.screen.text import cut, wrapped

Row = tuple[str, str]
"""Label and text."""
Picture = tuple[float | None, str, Sequence[Row]]
"""Share of the work that is done, a line about it, and rows."""
LIVE_SECONDS = 0.125
"""Seconds between two pictures of the live block."""
PLAIN_SECONDS = 10.0
"""Seconds between two plain lines of progress."""
ROOM_FOR_ECHO = 3
"""Columns that the live block leaves free: the ^C that a terminal echoes must not wrap, which would move the block."""
WIDE = 100
"""Columns from which rows stand side by side; on a narrower terminal they would change places as they grow."""
BAR = 16
"""Columns of the shortest bar."""
GAP = "    "
"""Blanks between two rows that are side by side."""
STEPS_OF_PROGRESS = 10
"""Parts of the run after each of which a plain line is due in any case."""


NOW = tr("now")
"""Label of the row with what is waited for."""
LOCK = threading.RLock()
"""Held while a screen or the list of stages changes."""
# a forked child has one thread, and must not wait for one that it has not
at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def kernel() -> Any:
    """Returns the shell of the notebook that this process is the kernel of; None in any other program."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return shell if hasattr(shell, "kernel") else None


class Screen:
    """Destination of the console's output. This one shows nothing."""

    interval = float("inf")
    """Seconds between two calls of `draw`."""
    picture: Picture | None = None
    """The present progress; None if there is none."""

    def draw(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        """Shows the present progress, in place of the last picture where that is possible."""
        with LOCK:
            self.picture = (fraction, head, rows)
            self._put(fraction, head, rows)

    def wait(self, text: str, begins: bool = False) -> None:
        """Shows what is waited for, below the picture if there is one. begins: True for the first text about it."""
        with LOCK:
            if self.picture is None:
                self._put(None, text, ())
            else:
                fraction, head, rows = self.picture
                self._put(fraction, head, [*rows, (NOW, text)])

    def rest(self) -> None:
        """Shows the picture alone, or nothing: nothing is waited for any more."""
        with LOCK:
            if self.picture is None:
                self.close()
            else:
                self._put(*self.picture)

    def resume(self) -> None:
        """Shows what follows again, after another screen did: the time in between was not silent."""

    def say(self, text: str, style: str = "") -> None:
        """Prints a line that stays. style: color, for a terminal that has colors."""

    def settle(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        """Leaves the last progress behind."""
        self.close()
        if head:
            self.say(line(head, rows))

    def close(self) -> None:
        """Removes the live block, and forgets its progress: what is waited for later is no part of that."""
        self.picture = None

    def _put(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        """Writes a picture."""


def line(head: str, rows: Sequence[Row]) -> str:
    """Returns progress in a line."""
    return " | ".join([head, *(f"{label} {text}" for label, text in rows)])


def choose(stream: TextIO | None) -> Screen:
    """Returns the live screen for a capable terminal, else plain lines. NO_COLOR removes the colors only."""
    steady = Steady(stream)
    return Live(steady) if is_capable(steady) else Plain(steady)


def is_capable(stream: "Steady | TextIO") -> bool:
    """Returns True for a terminal on which lines can be rewritten."""
    return bool(stream.isatty()) and obeys_escapes(stream)


def fitted(text: str) -> str:
    """Returns a text that is printed next: on a terminal as lines of whole words, else as it is."""
    stream = Steady(sys.stdout)
    return "\n".join(wrapped(text, stream.columns())) if is_capable(stream) else text


def print_error(text: str) -> None:
    """Prints an error to stderr, on a terminal as lines of whole words, and in red if it has colors."""
    for screen in list(_shown):
        screen.close()
    stream = Steady(sys.stderr)
    if is_capable(stream):
        text = "\n".join(wrapped(text, stream.columns()))
        text = text if os.environ.get("NO_COLOR") else f"\x1b[31m{text}\x1b[0m"
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

    def columns(self, otherwise: int = 80) -> int:
        """Returns the width of the terminal. otherwise: of a stream that is none."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(self.fileno()).columns or otherwise
        return otherwise

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

    def __init__(self, stream: Steady, seconds: float = PLAIN_SECONDS, announces: bool = True) -> None:
        """seconds: between two lines of progress. announces: True to say at once what begins."""
        self._stream, self._seconds, self._announces = stream, seconds, announces
        self._next = time.monotonic() + seconds
        self._reached = 0

    def wait(self, text: str, begins: bool = False) -> None:
        with LOCK:
            if begins and self._announces and self.picture is None:
                self.say(text)
            super().wait(text)

    def rest(self) -> None:
        """Leaves what is printed."""

    def resume(self) -> None:
        self._next = time.monotonic() + self._seconds

    def say(self, text: str, style: str = "") -> None:
        with LOCK:
            self._stream.write(text + "\n")
            self._stream.flush()

    def _put(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        reached = int((fraction or 0) * STEPS_OF_PROGRESS)
        if reached <= self._reached and time.monotonic() < self._next:
            return
        self._reached, self._next = reached, time.monotonic() + self._seconds
        self.say(line(head, rows))


class Line(Screen):
    """Rewrites one line of a terminal, and removes it at the end: nothing of it is left when the result is printed."""

    interval = 0.5

    def __init__(self, stream: Steady) -> None:
        self._stream = stream

    def say(self, text: str, style: str = "") -> None:
        with LOCK:
            self.close()
            self._stream.write(text + "\n")
            self._stream.flush()

    def close(self) -> None:
        with LOCK:
            self.picture = None
            if self in _shown:
                _shown.discard(self)
                self._write("")

    def postpone(self, text: str) -> bool:
        """Never postpones a text: the line is written at once."""
        return False

    def _put(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        _shown.add(self)
        self._write(line(head, rows))

    def _write(self, text: str) -> None:
        # what another program prints meanwhile begins at the left
        self._stream.write(f"\r{cut(text, self._stream.columns() - 1)}\x1b[K\r")
        self._stream.flush()


class Live(Screen):
    """Redraws a block in place, below the lines that stay."""

    interval = LIVE_SECONDS

    def __init__(self, stream: Steady) -> None:
        from rich.console import Console as RichConsole

        terminal: Any = stream
        self._rich = RichConsole(
            file=terminal, force_terminal=True, legacy_windows=False, highlight=False, markup=False, emoji=False
        )
        self._live: Any = None
        self._drawing = False
        self._postponed = ""
        """Text of `announce` that waits until the picture is drawn."""

    def say(self, text: str, style: str = "") -> None:
        with LOCK:
            from rich.text import Text

            for line in wrapped(text, self._rich.width):
                self._rich.print(Text(line, style=style), soft_wrap=True)

    def close(self) -> None:
        with LOCK:
            _shown.discard(self)
            self.picture = None
            if self._live is not None:
                self._live.stop()
                self._live = None

    def _put(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        from rich.constrain import Constrain
        from rich.live import Live as RichLive

        self._drawing = True
        if self._live is None:
            self._live = RichLive(console=self._rich, auto_refresh=False, transient=True, vertical_overflow="crop")
            self._live.start()
            _shown.add(self)
        width = self._rich.width - ROOM_FOR_ECHO
        self._live.update(Constrain(_block(fraction, head, rows, width), width), refresh=True)
        self._drawing = False
        if self._postponed:
            text, self._postponed = self._postponed, ""
            announce(text)

    def postpone(self, text: str) -> bool:
        """Keeps a text for `announce` and returns True, if a picture is being drawn."""
        self._postponed = text if self._drawing else ""
        return self._drawing


_shown: set[Live | Line] = set()
"""Screens with a block or a line on the terminal."""


def announce(text: str) -> None:
    """Prints a line to stderr from a signal handler. A live block is removed first, and comes again below the line; it
    and the line would garble each other."""
    for screen in list(_shown):
        if screen.postpone(text):
            return
        screen.close()
    # os.write is safe in a signal handler; print may be in the middle of a line
    with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
        os.write(sys.stderr.fileno(), bytes_for(sys.stderr.fileno(), f"\n{text}\n"))


def _block(fraction: float | None, head: str, rows: Sequence[Row], width: int) -> Any:
    """Returns a bar with the head beside it, and the rows below: two of them side by side where they fit into the
    width, and wrapped where a single one does not."""
    from rich.cells import cell_len
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    top = Table.grid(padding=(0, 2))
    if fraction is not None:
        bar_width = max(BAR, min(width // 2, width - cell_len(head) - 2))
        bar = ProgressBar(total=1.0, completed=fraction, width=bar_width, complete_style="cyan", finished_style="green")
        top.add_row(bar, Text(head))
    else:
        top.add_row(Text(head))
    first = max((cell_len(label) for label, _ in rows), default=0)
    table = Table.grid(padding=(0, 2))
    left = list(rows)
    while left:
        label, text = left.pop(0)
        cell = Text(text)
        if width >= WIDE and left and left[0][0] != NOW:  # it comes and goes, and moves nothing
            beside = f"{GAP}{left[0][0]}  {left[0][1]}"
            if first + 2 + cell_len(text + beside) <= width:
                cell = Text.assemble(text, GAP, (left[0][0], "dim"), "  ", left[0][1])
                del left[0]
        table.add_row(Text(label, style="dim", no_wrap=True), cell)
    return Group(top, table)
