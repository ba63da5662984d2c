"""Hands the new observations and transitions of a buffer to an algorithm that learns from it."""

from collections.abc import Iterator

import numpy as np

from config.model.memory_spec import RolloutSpec
from framework.collect.fragment import Columns
from framework.data.buffer import ReplayBuffer
from framework.memory.arrivals import Arrivals
from framework.memory.chunk import Chunk
from framework.memory.ring import Array
from framework.policies.rollout import SlotRollout
from framework.policies.splitter import Transitions


class Intake:
    """Takes each observation of one buffer once, for statistics, and makes windows of its fresh transitions. Those that
    cannot be learned from before others follow, such as an unfinished episode, wait in it for the next update."""

    def __init__(self, buffer: ReplayBuffer) -> None:
        self._emptied = buffer.emptied
        """Value of buffer.emptied when it was read last."""
        self._arrivals: Arrivals | None = None
        self._window: SlotRollout | None = None
        self._successors: dict[int, Array] = {}
        """Ring -> the observation after its newest transition, if that has not ended the episode."""

    def observations(self, buffer: ReplayBuffer, final: bool) -> Columns:
        """Returns those that are new since the last call. final: also the last one of each episode, if it is stored."""
        if self._arrivals is None or self._emptied != buffer.emptied:
            rings = buffer.passage
            ends = ("done", "obs_next") if final and "obs_next" in rings.steps else None
            self._arrivals, self._emptied = Arrivals(rings, ends), buffer.emptied
        return self._arrivals.take()

    def windows(
        self, buffer: ReplayBuffer, spec: RolloutSpec, columns: Columns, ring: Array, fraction: float
    ) -> Iterator[Chunk]:
        """Yields transitions [K, ...] of these rings, all that the buffer holds, as windows."""
        if self._window is None or self._emptied == buffer.emptied:  # the buffer still holds what waits
            self._window, self._successors = SlotRollout(spec, buffer.rings.count), {}
        self._window.spec, self._emptied = spec, buffer.emptied
        self._window.add(Transitions(columns, ring, lost=self._broken_off(columns, ring)), fraction)
        yield from self._window.drain()

    def _broken_off(self, columns: Columns, ring: Array) -> Array:
        """Returns the rings whose waiting transitions are not followed by the new ones: other episodes have begun."""
        numbers, first = np.unique(ring, return_index=True)
        newest = len(ring) - 1 - np.unique(ring[::-1], return_index=True)[1]
        ends = columns["terminated"] | columns["truncated"]
        lost = []
        for number, begin, end in zip(numbers.tolist(), first.tolist(), newest.tolist(), strict=True):
            successor = self._successors.pop(number, None)
            if successor is not None and not np.array_equal(successor, columns["obs"][begin], equal_nan=True):
                lost.append(number)
            if not ends[end]:
                self._successors[number] = columns["next_obs"][end]
        return np.array(lost, np.int64)
