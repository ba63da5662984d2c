"""The contract of a memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np

from algos.base import Tree
from config.model.memory_spec import MOST_AT_ONCE
from framework.collect.fragment import Fragment
from framework.disk.journal import Frame, Journal, Span
from framework.memory.chunk import Chunk, Keys


class Memory(ABC):
    """Stores fragments and hands out chunks. Between rounds, `state` and what `write` appended to a journal describe a
    memory completely."""

    offline = False
    """True while updates are owed for which nothing has to be collected."""
    held_out: Chunk | None = None
    """A minibatch of given data that are kept from learning; None if there are none."""

    @abstractmethod
    def add(self, fragment: Fragment) -> None:
        """Stores a copy of the fragment."""

    @abstractmethod
    def take(self, fraction: float, most: int = MOST_AT_ONCE) -> Chunk | None:
        """Returns the samples to learn from now, or None if no update is owed. fraction: share of the run that is
        done. most: largest number of minibatches, if the memory chooses it."""

    @abstractmethod
    def owed(self) -> int:
        """Returns the number of minibatches (replay) or windows of fresh steps (rollouts) that take() can return."""

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """Sets new priorities [K, B] of samples, if the memory has priorities. Ignores samples that have been
        overwritten since."""

    @abstractmethod
    def state(self) -> Tree:
        """Returns counters and random streams, and everything that write() does not append."""

    def write(self, journal: Journal) -> Span | None:
        """Appends everything that the journal does not hold yet, frame by frame. Returns the part of the journal that
        load_state() will need, or None if this memory keeps everything in its state."""
        return None

    @abstractmethod
    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        """Restores a memory from its state and from the part of the journal that write() returned."""
