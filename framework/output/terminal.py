"""Where a person looks: a live block on a terminal, plain lines in a pipe or a log. A broken one stops nothing."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TextIO

from framework.errors import silence

Row = tuple[str, str]
"""A label, and what it says."""
LIVE_SECONDS = 0.125
PLAIN_SECONDS = 10.0
STEPS_OF_PROGRESS = 10
"""A plain line comes at least at every such part of the run."""


class Screen(Protocol):
    """What the console writes to."""

    interval: float
    """Seconds between two calls of `draw`."""

    def draw(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        """Show how things stand; the last such picture gives way to this one where that is possible."""

    def say(self, text: str) -> None:
        """Show a line that stays."""

    def close(self) -> None:
        """Take the live part away."""


def choose(stream: TextIO | None) -> Screen:
    """The live screen on a capable terminal; NO_COLOR and TERM=dumb ask for plain lines."""
    steady = Steady(stream)
    capable = steady.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return Live(steady) if capable else Plain(steady)


class Steady:
    """A text stream whose failures are nobody's problem: characters that it lacks become question marks, and once
    its reader has gone it is silent."""

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
            self._give_up()
            return None

    def _give_up(self) -> None:
        """Stops writing; what others or the interpreter still write there must not fail either."""
        stream, self._stream = self._stream, None
        silence(stream)


class Plain:
    """A line now and then, for files and pipes."""

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
        self.say(" | ".join([head, *(f"{label} {text}" for label, text in rows)]))

    def say(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Nothing is held."""


class Live:
    """A block that is drawn over and over, below the lines that stay."""

    interval = LIVE_SECONDS

    def __init__(self, stream: Steady) -> None:
        from rich.console import Console as RichConsole

        terminal: Any = stream
        self._rich = RichConsole(file=terminal, force_terminal=True, highlight=False, markup=False, emoji=False)
        self._live: Any = None

    def draw(self, fraction: float | None, head: str, rows: Sequence[Row]) -> None:
        from rich.live import Live as RichLive

        if self._live is None:
            self._live = RichLive(console=self._rich, auto_refresh=False, transient=True, vertical_overflow="crop")
            self._live.start()
        self._live.update(_block(fraction, head, rows), refresh=True)

    def say(self, text: str) -> None:
        style = "yellow" if text.startswith("warning") else None
        self._rich.print(text, style=style, soft_wrap=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _block(fraction: float | None, head: str, rows: Sequence[Row]) -> Any:
    """A bar with the head beside it, and the rows below; lines too long for the window are shortened."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    def short(text: str, style: str = "") -> Text:
        return Text(text, style=style, no_wrap=True, overflow="ellipsis")

    top = Table.grid(padding=(0, 2))
    if fraction is not None:
        top.add_row(ProgressBar(total=1.0, completed=fraction, width=30), short(head))
    else:
        top.add_row(short(head))
    table = Table.grid(padding=(0, 2))
    for label, text in rows:
        table.add_row(short(label, "dim"), short(text))
    return Group(top, table)
