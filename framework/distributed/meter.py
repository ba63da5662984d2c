"""How long a process works and how long it waits, by its own clock."""

import time
from typing import NamedTuple


class Times(NamedTuple):
    """Seconds since a process began to be asked for things."""

    busy: float = 0.0
    waited: float = 0.0


class Meter:
    """`with meter:` around the work; what lies between is waiting."""

    def __init__(self) -> None:
        self.busy = self.waited = self.last = 0.0
        self._since: float | None = None

    def __enter__(self) -> None:
        now = time.perf_counter()
        if self._since is not None:
            self.waited += now - self._since
        self._since = now

    def __exit__(self, *error: object) -> None:
        now = time.perf_counter()
        self.last = now - (self._since or now)
        self.busy += self.last
        self._since = now

    def read(self) -> Times:
        """Until now."""
        return Times(self.busy, self.waited)
