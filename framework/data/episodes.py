"""State of the running episodes of a buffer, and the steps after the stored ones."""

from typing import Any, NamedTuple

import numpy as np

from framework.data.batch import Batch
from framework.memory.ring import Array


class Added(NamedTuple):
    """Result of `add`: numbers for one transition, arrays [K] for one of each of K buffers."""

    index: Any
    """Place of the transition."""
    ep_return: Any
    """Sum of the rewards of the episode that ended with it; 0 if none did."""
    ep_len: Any
    """Number of transitions of the episode that ended with it; 0 if none did."""
    ep_start: Any
    """Place of the first transition of its episode."""


class Episodes:
    """Return, length and beginning of the running episode of each buffer."""

    def __init__(self, starts: Array) -> None:
        self.total = np.zeros(len(starts))
        """Sum of the rewards so far [buffers], or [buffers, ...] for rewards that are vectors."""
        self.length = np.zeros(len(starts), np.int64)
        self.start = starts
        """Place of the first transition."""

    def add_one(self, place: int, reward: Any, end: bool) -> Added:
        """Counts a transition of the only buffer."""
        length = int(self.length[0]) + 1
        if length == 1:
            self._make_room_for(np.shape(reward))
            self.start[0] = place
        total = self.total[0] + reward
        self.length[0], self.total[0] = (0, 0.0) if end else (length, total)
        whole = total if end else total * 0
        return Added(place, whole if self.total.ndim > 1 else float(whole), length if end else 0, int(self.start[0]))

    def add(self, ring: Array, place: Array, reward: Array, ends: Array) -> Added:
        """Counts a transition [K] of each of these buffers."""
        self._make_room_for(reward.shape[1:])
        length, total = self.length[ring] + 1, self.total[ring] + reward
        start = np.where(length == 1, place, self.start[ring])
        going = ~ends
        with_return = going.reshape(-1, *[1] * (total.ndim - 1)) if total.ndim > 1 else going
        self.length[ring], self.total[ring], self.start[ring] = length * going, total * with_return, start
        return Added(place, total * ~with_return, length * ends, start)

    def _make_room_for(self, shape: tuple[int, ...]) -> None:
        """Makes room for the returns of rewards that are vectors."""
        if shape != self.total.shape[1:]:
            self.total = np.zeros((len(self.total), *shape))

    def forget(self) -> None:
        """Has no episode running."""
        self.length[:], self.total[:] = 0, 0


class Beyond:
    """The observations after truncated steps, for a buffer that does not store the observation after each step."""

    def __init__(self) -> None:
        self.at: dict[int, Batch] = {}
        """Place -> a Batch with the observation as `obs`."""

    def remember(self, places: list[int], after: Batch | None, truncated: Any) -> None:
        """Keeps the observations [K, ...] after truncated steps, and forgets the ones of overwritten steps."""
        for row, place in enumerate(places):
            self.at.pop(place, None)
            if after is not None and truncated[row]:
                self.at[place] = after[row].copy()

    def replace_in(self, stacks: Any, places: Array, stack: int) -> None:
        """Writes the observations that are known into those that were found for these places."""
        for row, place in np.ndenumerate(places) if self.at else ():
            if place in self.at:
                _replace_newest(stacks, self.at[place].obs, row, stack)


def _replace_newest(stacks: Any, after: Any, row: tuple[int, ...], stack: int) -> None:
    """Makes this the newest observation of a row. A stack of several moves on by one."""
    if isinstance(stacks, Batch):
        for key, part in stacks.items():
            _replace_newest(part, after[key], row, stack)
    elif stack == 1:
        stacks[row] = after
    else:
        newest = stacks[row]  # a view
        newest[:-1] = newest[1:].copy()
        newest[-1] = after
