"""Ctrl-C, SIGTERM and a closed terminal ask a run to stop between rounds; a second one ends it at once. And a watch
over stuck steps."""

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Protocol

from framework.output.terminal import announce

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
HANGUP = getattr(signal, "SIGHUP", None)
if HANGUP is not None:
    NAMES[HANGUP] = "the terminal was closed"


def end(number: int) -> None:
    """End this process as if the signal had."""
    os._exit(128 + number)


class StopSignals:
    """While it is entered, the first signal is remembered, and the second calls `again`, which ends the process."""

    def __init__(self, again: Callable[[int], None] = end) -> None:
        self.again = again
        self.received: int | None = None
        self._old: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for number in NAMES:
                if number == HANGUP and signal.getsignal(number) is signal.SIG_IGN:
                    continue  # nohup: the run outlives its terminal
                self._old[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal itself returned

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            self.again(number)
        self.received = number
        name = NAMES[signal.Signals(number)]
        announce(f"{name}: saving and stopping. Press Ctrl-C again to quit immediately.")

    @property
    def exit_status(self) -> int:
        """What a shell expects of a process that this signal ended."""
        return 128 + (self.received or 0)


class Watched(Protocol):
    """What a watchdog looks at."""

    steps: int
    inside: bool

    def last_action(self) -> object: ...


class Watchdog:
    """Calls `alarm` when an environment does not come back from a step."""

    def __init__(self, seconds: float, collectors: Callable[[], list[Watched]], alarm: Callable[[], None]) -> None:
        self.seconds, self.collectors, self.alarm = seconds, collectors, alarm
        self._done = threading.Event()
        if seconds > 0:
            threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def _watch(self) -> None:
        seen, since = -1, time.monotonic()
        while not self._done.wait(min(1.0, self.seconds / 4)):
            collectors = self.collectors()
            steps = sum(collector.steps for collector in collectors)
            if steps != seen or not any(collector.inside for collector in collectors):
                seen, since = steps, time.monotonic()
            elif time.monotonic() - since >= self.seconds:
                self.alarm()
                return

    def close(self) -> None:
        """Stop watching."""
        self._done.set()
