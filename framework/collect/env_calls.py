"""Knows which call into an environment is running, so that a watchdog in another thread can tell when one hangs."""

import threading
from types import TracebackType

from config.tell.language import tr
from envs.base import Array, EnvError


class Watch:
    """Context manager around every call into an environment: `with watch("step", action): ...`.

    An environment that calls sys.exit raises SystemExit through our code; it becomes an EnvError here.
    """

    __slots__ = ("action", "call", "calls", "held")

    def __init__(self) -> None:
        self.call = ""
        """Name of the running call: make, set_phase, reset, step, render or close; empty between calls."""
        self.calls = 0
        """Number of calls that have begun."""
        self.action: Array | None = None
        """Action of the latest step, for a message."""
        self.held = threading.RLock()
        """Held by a watchdog that saves and ends the process: a call that returns or fails meanwhile, since the
        environment's processes are being killed, goes no further."""

    def __call__(self, call: str, action: Array | None = None) -> "Watch":
        self.call, self.action = call, action
        self.calls += 1
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self.held:
            call, self.call = self.call, ""
        if isinstance(error, SystemExit):
            raise EnvError("the environment called sys.exit({code}) in {call}", code=error.code, call=call) from error

    def describe(self) -> str:
        """Returns the running call with its action, for a message."""
        if self.action is None:
            return tr("in {call}", call=self.call)
        return tr("in {call}, with action {action}", call=self.call, action=self.action.tolist())
