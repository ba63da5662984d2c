"""A buffer without a size."""

from typing import Any

from framework.data.buffer import ReplayBuffer
from framework.data.episodes import Added
from framework.data.settings import Settings
from framework.memory.ring import Array

_FIRST_SIZE = 1024
"""Number of transitions that there is room for at first; twice as many whenever they do not suffice."""


class ListReplayBuffer(ReplayBuffer):
    """A buffer that grows and forgets nothing until it is reset: for whole episodes, and for demonstrations."""

    def __init__(self, **settings: Any) -> None:
        """settings: of ReplayBuffer."""
        self._set_up([_FIRST_SIZE], Settings.of(self, settings))

    def add(self, batch: Any = None, buffer_ids: Any = None, **values: Any) -> Added:
        """Adds a transition, as ReplayBuffer.add()."""
        self._make_room_for(1)
        return super().add(batch, buffer_ids, **values)

    def __getattr__(self, key: str) -> Any:
        """Returns the values of a key: of the stored transitions, without the places that are free."""
        return super().__getattr__(key)[: len(self)]

    def _take_over(self, other: ReplayBuffer) -> Array:
        self._make_room_for(len(other))
        return super()._take_over(other)

    def _make_room_for(self, count: int) -> None:
        """Grows until it has room for this many more transitions."""
        length = self._rings.length
        while length < len(self) + count:
            length *= 2
        if length > self._rings.length:
            self._rings.lengthen(length)
