"""Signals that stop a run or ask it to save, and a watchdog for environments that hang."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, TracebackType

from config.system.processes import HANGUP, STOPS
from config.tell.language import tr
from framework.collect.env_calls import Watch
from framework.errors import Interrupted
from framework.screen.terminal import announce, kernel

NAMES: dict[int, str] = dict(STOPS)
if HANGUP is not None:
    NAMES[HANGUP] = tr("the terminal was closed")


SAVING = {number: name for name in ("SIGUSR1", "SIGUSR2") if (number := getattr(signal, name, None)) is not None}
"""Signals that ask a run to save a checkpoint and to go on, such as a batch system sends before the time limit."""


def leave(status: int) -> None:
    """Ends this process at once, with the processes that it started: those of environments, which would run on and
    keep files open."""
    for child in multiprocessing.active_children():
        child.kill()
        child.join(5.0)
    os._exit(status)


def end(number: int) -> None:
    """Ends this process at once, with the status of a process that a signal killed; in a notebook only the cell."""
    if kernel():
        raise KeyboardInterrupt
    leave(128 + number)


LOOK_SECONDS = 1.0
"""Time between two looks at who has the handlers, each of which takes some microseconds; came is asked at each step."""


def _taken(number: int, doing: str) -> str:
    """Returns the line about a signal that was taken."""
    name = NAMES[number]
    if number == signal.SIGINT:
        return tr("{name}: {doing}. Press Ctrl-C again to quit immediately.", name=name, doing=doing)
    return tr("{name}: {doing}. SIGINT (Ctrl-C) quits immediately.", name=name, doing=doing)


def _after_compiling(doing: str) -> str:
    return tr("{doing}, as soon as a gradient step is compiled, which may take a minute", doing=doing)


def tell_wait() -> None:
    """Says, after Ctrl-C in a program or a notebook, that a compiler runs, which is waited for."""
    text = _taken(signal.SIGINT, _after_compiling(tr("saving and stopping")))
    if kernel() is None:
        announce(text)
    else:  # the descriptor of stderr is that of the server there
        print(text, file=sys.stderr)


class StopSignals:
    """Records the first SIGINT, SIGTERM or SIGHUP while it is entered; a SIGINT after it calls `again`. A second
    SIGTERM says nothing new: a batch system sends one to each process of a job, and its script may pass on its own."""

    def __init__(self, again: Callable[[int], None] = end, doing: str = tr("saving and stopping")) -> None:
        self.again, self.doing = again, doing
        self.waits: Callable[[], bool] = lambda: False
        """True while a compiler runs: it is ended by a second Ctrl-C alone, and may take a minute."""
        self.received: int | None = None
        self._old: dict[int, object] = {}
        self._next_look = 0.0

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for number in NAMES:
                if number == HANGUP and signal.getsignal(number) is signal.SIG_IGN:
                    continue  # nohup: the run outlives its terminal
                self._old[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # as signal.signal returned it
        self._old.clear()  # came is asked later, too, and takes nothing back any more

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            if number == signal.SIGINT:
                self.again(number)
            return
        self.received = number
        announce(_taken(number, _after_compiling(self.doing) if self.waits() else self.doing))

    def came(self) -> bool:
        """Returns True after a signal."""
        if time.monotonic() >= self._next_look:
            self._take_back()
        return self.received is not None

    def _take_back(self) -> None:
        """Takes back what an environment, or a library that it uses, has taken: Ctrl-C would reach that alone, and end
        the run without saving, or not at all."""
        self._next_look = time.monotonic() + LOOK_SECONDS
        for number in self._old:
            if signal.getsignal(number) != self._receive:
                with contextlib.suppress(ValueError):  # another thread asks
                    signal.signal(number, self._receive)

    def check(self) -> None:
        """Raises Interrupted after a signal."""
        if self.came():
            raise Interrupted

    @property
    def exit_status(self) -> int:
        """Exit status that a shell expects of a process ended by this signal."""
        return 128 + (self.received or 0)


class SaveSignals:
    """Records SIGUSR1 and SIGUSR2 while it is entered."""

    def __init__(self, at_once: Callable[[int], None] = lambda number: None) -> None:
        """at_once: called with each signal."""
        self.at_once = at_once
        self._received: int | None = None
        self._old: dict[int, object] = {}

    def __enter__(self) -> "SaveSignals":
        if threading.current_thread() is threading.main_thread():
            self._old = {number: signal.signal(number, self._receive) for number in SAVING}
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # as signal.signal returned it

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._received = number
        self.at_once(number)

    def taken(self) -> str | None:
        """Returns the name of the signal that has come since the last call; None without one."""
        number, self._received = self._received, None
        return None if number is None else SAVING[number]


@contextlib.contextmanager
def ignored_by_children(numbers: Iterable[int]) -> Iterator[None]:
    """Lets the programs started meanwhile ignore signals, which they inherit. What comes for this process meanwhile is
    lost, so the time has to be short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Watchdog:
    """Calls `alarm` from a thread of its own when a call into an environment takes longer than `seconds` (0: never)."""

    def __init__(self, seconds: float, watch: Watch, alarm: Callable[[], None]) -> None:
        self.seconds, self.watch, self.alarm = seconds, watch, alarm
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        if seconds > 0:
            self._thread.start()

    def __enter__(self) -> "Watchdog":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _watch(self) -> None:
        pause = min(1.0, self.seconds / 4)
        seen, silent, last = -1, 0.0, time.monotonic()
        while not self._done.wait(pause):
            now = time.monotonic()
            # while this process was suspended, as by Ctrl-Z, those of its environment were, too
            past, last = min(now - last, 2 * pause), now
            with self.watch.held:
                if self.watch.calls != seen or not self.watch.call:
                    seen, silent = self.watch.calls, 0.0
                    continue
                silent += past
                if silent >= self.seconds:
                    self.alarm()
                    return

    def close(self) -> None:
        """Stops watching. Waits for the thread: one that wakes up while Python ends aborts the process."""
        self._done.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
