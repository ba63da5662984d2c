"""Draws the report and the learning curve anew while a run trains, so that a long run can be looked at."""

import time
from collections.abc import Callable
from pathlib import Path

from config.tell.language import tr
from framework.errors import Interrupted
from framework.loop.iteration import Count
from framework.loop.observer import Observer
from framework.record.console import Console

SHARE = 0.02
"""Largest share of the time of a session that drawing takes."""
LEAST = 10.0
"""Seconds between two drawings, at least."""
FIRST = 2.0
"""Seconds that the first drawing is taken to need, with the import of matplotlib: it comes after 100 seconds, so a
short run is drawn at its end alone."""


class Redraw(Observer):
    """Draws after a checkpoint, and so after each evaluation, once the time that it needs is within its share. A
    failure is one warning, and nothing more is drawn before the end."""

    KEY = "Redraw"

    def __init__(self, draw: Callable[[], object], console: Console, now: Callable[[], float] = time.monotonic) -> None:
        """now: returns the time in seconds."""
        self._draw, self._console, self._now = draw, console, now
        self._began = self._ended = now()
        self._spent, self._next = 0.0, FIRST
        """Seconds of all drawings, and of the next one, as long as the last one was."""
        self._due = self._failed = False

    def checkpoint(self, path: Path, count: Count) -> None:
        self._due = True

    def settled(self) -> None:
        if self._due and not self._failed and self._affordable():
            self._due = False
            self._drawn()

    def _affordable(self) -> bool:
        now = self._now()
        return now - self._ended >= LEAST and self._spent + self._next <= SHARE * (now - self._began)

    def _drawn(self) -> None:
        begin = self._now()
        try:
            self._draw()
        except Interrupted:
            raise
        except Exception as error:  # a picture is not worth a run
            self._failed = True
            self._console.log_traceback(error)
            self._console.warn(
                tr("the report could not be drawn while the run trains: {error}; training goes on", error=error)
            )
        self._ended = self._now()
        self._next = self._ended - begin
        self._spent += self._next
