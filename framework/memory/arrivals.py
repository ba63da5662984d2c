"""Hands out each observation and global state that reaches a replay memory once, for running statistics.

Statistics over samples would be biased: early steps are sampled more often than late ones, and by priority.
"""

import numpy as np

from framework.collect.fragment import Columns
from framework.memory.ring import Rings

MOST_BYTES = 16 * 2**20
"""Bytes of observations handed out with one chunk; the rest follows with the next chunks."""


class Arrivals:
    """The observations in the rings that were not handed out yet."""

    def __init__(self, rings: Rings, final: tuple[str, str] | None = None) -> None:
        """final: columns of the ends of episodes and of the successors, if the last observation of each episode is
        handed out, too; no step begins with it."""
        self._rings, self._final = rings, final
        self.taken = np.zeros(rings.count, np.int64)
        """Number of steps of each collector that were handed out."""

    def take(self) -> Columns:
        """Returns the new observations [M, ...] and global states without dummy steps."""
        rings = self._rings
        obs, valid = rings.steps["obs"], rings.steps.get("valid")
        most = max(1, MOST_BYTES // rings.given("obs", obs[:1]).nbytes // rings.count)
        first = np.maximum(self.taken, rings.oldest)
        self.taken = np.minimum(rings.added, first + most)
        ranges = zip(first.tolist(), self.taken.tolist(), strict=True)
        slots = np.concatenate([rings.slots(ring, np.arange(*steps)) for ring, steps in enumerate(ranges)])
        steps = obs[slots]
        real = np.ones(steps.shape[:2], bool) if valid is None else valid[slots]
        new = {"obs": rings.given("obs", steps[real])}
        if "global_state" in rings.steps:
            new["global_state"] = rings.steps["global_state"][slots][real]
        if self._final is not None:
            ends, successors = (rings.steps[name][slots] for name in self._final)
            new["obs"] = np.concatenate([new["obs"], rings.given("next_obs", successors[ends & real])])
        return new
