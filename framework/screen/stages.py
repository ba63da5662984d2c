"""Stages of the work, for a person who waits: each has a name, and says how far it is where that is known.

A thread shows the innermost stage. So a call that does not return for long is shown as well (an import, a step of an
environment, a compiler), and no loop has to look at the clock.
"""

import atexit
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, TypeVar

from config.tell.language import english, tr
from framework.log import LOGGER
from framework.screen import terminal
from framework.screen.formatting import clock

T = TypeVar("T")
EVALUATING = english("evaluating the model of update {update:,}")
MEASURING = english("measuring the random policy")
FILMING, FILMING_EPISODE = english("filming {episodes}"), english("filming episode {number:,}")
PAUSES = (EVALUATING, MEASURING, FILMING, FILMING_EPISODE)
"""Stages of a run in which it does not train. Their names are written to its log, where other processes read them."""
LOOK_SECONDS = 0.5
"""Seconds between two looks at the innermost stage."""
SAID_AFTER = 30.0
"""Seconds after which a stage of a command whose output is a file or a pipe is told on stderr, and again."""


class Stage:
    """A part of the work that may take long."""

    def __init__(self, name: str, how_far: Callable[[], str] = lambda: "") -> None:
        """how_far: returns what is done of it, such as "3 of 20 episodes"; a thread calls it now and then."""
        self.name, self.how_far = name, how_far
        self.began = time.monotonic()

    def text(self) -> str:
        """Returns the name, how far it is, and for how long it has lasted."""
        far = ""
        with contextlib.suppress(Exception):  # the work goes on meanwhile, and may be between two states
            far = self.how_far()
        past = time.monotonic() - self.began
        text = tr("{name}: {progress}", name=self.name, progress=far) if far else self.name
        return tr("{text}, {time} so far", text=text, time=clock(past)) if past >= 1 else text


class Shown(NamedTuple):
    """A screen that stages are shown on."""

    screen: terminal.Screen
    now: Callable[[], str]
    """Brings the picture of the screen up to date, and returns what is done where there is no stage; empty to show
    nothing."""


_stages: list[Stage] = []
"""Stages that have begun and not ended, the innermost last."""
_shown: list[Shown] = []
"""Screens that stages can be shown on; the last one has them all."""
_changed = 0.0
"""Time at which the last stage has ended, or the last screen was chosen."""
_thread: threading.Thread | None = None
_stop = threading.Event()


@contextlib.contextmanager
def shown_on(screen: terminal.Screen, now: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Shows stages on a screen meanwhile, and on no other one; on one that shows nothing, not at all. now: see
    Shown."""
    global _changed
    shown = Shown(screen, now)
    with terminal.LOCK:
        _changed = time.monotonic()
        for before in _shown[-1:]:
            before.screen.rest()
        _shown.append(shown)
    try:
        yield
    finally:
        with terminal.LOCK:
            _shown.remove(shown)
            for before in _shown[-1:]:
                before.screen.resume()
            idle = not _shown
        if idle:
            _end()


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Shows stages where a person sees them meanwhile: on the terminal, else on stderr. For a command whose output is
    the result alone. What is done outside of all stages is to import modules."""
    outputs = [terminal.Steady(stream) for stream in (sys.stdout, sys.stderr)]
    capable = next((stream for stream in outputs if terminal.is_capable(stream)), None)
    screen = terminal.Line(capable) if capable else terminal.Plain(outputs[1], SAID_AFTER, announces=False)

    def loading() -> str:
        past = time.monotonic() - _changed
        return tr("loading the program, {time} so far", time=clock(past)) if past >= 1 else ""

    with shown_on(screen, loading):
        begin()
        try:
            yield
        finally:
            screen.close()


@contextlib.contextmanager
def stage(name: str, how_far: Callable[[], str] = lambda: "", logged: bool = False) -> Iterator[None]:
    """Shows what is done meanwhile. how_far: see Stage. logged: True to write the name to the log of the run, where
    other processes read it."""
    global _changed
    if logged:
        LOGGER.info(name)
    now = Stage(name, how_far)
    with terminal.LOCK:
        _stages.append(now)
        screen = _shown[-1].screen if _shown else None
    if screen is not None:
        begin()
        screen.wait(now.text(), begins=logged)
    try:
        yield
    finally:
        with terminal.LOCK:
            _stages.remove(now)
            _changed = time.monotonic()
            if _shown and (outer := _stages[-1:]):
                _shown[-1].screen.wait(outer[0].text())
            elif _shown:
                _shown[-1].screen.rest()


def each(name: str, items: Collection[T], noun: str, further: Callable[[], str] = lambda: "") -> Iterator[T]:
    """Yields items, and shows how many of them are done. noun: of the items, in the plural. further: returns how far
    the present one is."""
    done = 0
    with stage(name, lambda: tr(", ").join(filter(None, [part(done, len(items), noun), further()]))):
        for item in items:
            yield item
            done += 1


def part(done: int, total: int | None, noun: str) -> str:
    """Returns how much is done: 3 of 20 episodes, or 3 episodes if their number is not known."""
    if total:
        return tr("{done:,} of {total:,} {noun}", done=done, total=total, noun=noun).strip()
    return tr("{done:,} {noun}", done=done, noun=noun).strip()


def look() -> None:
    """Shows the innermost stage. The thread calls it again and again."""
    with terminal.LOCK:
        if not _shown:
            return
        screen, now = _shown[-1]
        text = now()
        if _stages:
            text = _stages[-1].text()
        if text:
            screen.wait(text)


def begin() -> None:
    """Starts to look at what is done."""
    global _thread, _stop
    with terminal.LOCK:
        if _shown and _shown[-1].screen.interval < float("inf") and (_thread is None or not _thread.is_alive()):
            _stop = threading.Event()  # its own: one that ends must not be woken by the next one
            _thread = threading.Thread(target=_look_on, args=(_stop,), name="stages", daemon=True)
            _thread.start()


def _look_on(stop: threading.Event) -> None:
    while not stop.wait(LOOK_SECONDS):
        look()


def _end() -> None:
    """Ends the thread, and waits for it: one that wakes up while Python ends aborts the process."""
    global _thread
    with terminal.LOCK:
        thread, _thread = _thread, None
        _stop.set()
    if thread is not None and thread.is_alive() and thread is not threading.current_thread():
        thread.join()


atexit.register(_end)
