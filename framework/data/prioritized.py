"""Buffers that sample in proportion to priority. What they return has a key `weight`, for importance sampling."""

from typing import Any

from framework.data.buffer import ReplayBuffer
from framework.data.priorities import Priorities
from framework.data.settings import Settings, whole
from framework.data.vector import parts


class PrioritizedReplayBuffer(ReplayBuffer):
    """A buffer that samples in proportion to priority^alpha; beta is the exponent of the weights."""

    def __init__(self, size: int, alpha: float, beta: float, stratified: bool = False, **settings: Any) -> None:
        """stratified: draws one from each of n equal parts of the total. settings: of ReplayBuffer."""
        self._set_up([whole("size", size)], Settings.of(self, settings))
        self._priorities = Priorities(self.maxsize, alpha, beta, stratified)


class PrioritizedVectorReplayBuffer(ReplayBuffer):
    """A buffer of equal parts, one for each environment, that samples in proportion to priority^alpha."""

    _of_rows = True

    def __init__(
        self, total_size: int, buffer_num: int, alpha: float, beta: float, stratified: bool = False, **settings: Any
    ) -> None:
        """total_size, buffer_num: as of VectorReplayBuffer; the others as of PrioritizedReplayBuffer."""
        self._set_up(parts(total_size, buffer_num), Settings.of(self, settings))
        self._priorities = Priorities(self.maxsize, alpha, beta, stratified)
