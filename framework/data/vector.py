"""Buffers that are filled from several environments in turn: a ring for each of them."""

from math import ceil
from typing import Any

from framework.data.buffer import ReplayBuffer
from framework.errors import DataError
from framework.memory.ring import Rings


class VectorReplayBuffer(ReplayBuffer):
    """A buffer of equal parts, one for each environment. An index counts through all of them: part k of size L has the
    places k L to k L + L - 1."""

    _of_rows = True

    def __init__(self, total_size: int, buffer_num: int, **settings: Any) -> None:
        """total_size: number of transitions in all parts, which is rounded up. settings: of ReplayBuffer."""
        if buffer_num < 1:
            raise DataError(f"buffer_num: got {buffer_num}; expected the number of environments, at least 1")
        size = ceil(total_size / buffer_num) * buffer_num
        super().__init__(size, **settings)
        self._use(Rings(size, buffer_num))
