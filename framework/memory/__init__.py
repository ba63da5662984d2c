"""Memories: they keep columns, decide when there is enough to learn from, and hand out chunks."""

from typing import Protocol

import numpy as np

from algos.base import Tree
from config.schema import MemorySpec, ReplaySpec
from envs.base import Goal
from framework.fragment import Columns, Fragment
from framework.memory.chunk import MOST_AT_ONCE, Chunk, Keys
from framework.memory.per_worker import PerWorker
from framework.memory.replay import Replay
from framework.memory.rollout import Rollout


class Memory(Protocol):
    """The contract. Between rounds a memory is described by its state and by its journal."""

    def add(self, fragment: Fragment) -> None:
        """Keep a copy of the fragment."""

    def take(self, fraction: float, most: int = MOST_AT_ONCE) -> Chunk | None:
        """What is to be learned from now, or None when nothing is owed. fraction: how much of the run is done. most:
        minibatches of a chunk, where it is up to the memory how many they are."""

    def owed(self) -> int:
        """How much waits to be handed out: minibatches of a replay memory, or windows of fresh steps."""

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """New priorities [K, B] of samples that were handed out; samples overwritten meanwhile are ignored."""

    def state(self) -> Tree:
        """Counters and streams, and everything that is not in the journal."""

    def journal(self) -> Columns | None:
        """What is new since the last journalled(), as named arrays; None if this memory keeps no journal."""

    def journalled(self) -> None:
        """The last journal() is safely stored; or, after load_state, the run goes on with the journal that was read."""

    def oldest(self) -> int:
        """Position in the journal (in steps added) of the oldest thing that is still needed."""

    def newest(self) -> int:
        """Position in the journal of the end."""

    def load_state(self, state: Tree, journal: list[Columns]) -> None:
        """Stand where `state` was taken; journal holds what was written, in order."""


def make(
    spec: MemorySpec, rng: np.random.Generator, goal: Goal | None = None, collectors: int = 1, apart: bool = False
) -> Memory:
    """The memory that an algorithm's config asks for; goal is that of the environment. apart: the steps of several
    collectors are windows of their own, and not joined into one."""
    if isinstance(spec, ReplaySpec):
        return Replay(spec, rng, goal, collectors)
    return PerWorker(spec, collectors) if apart else Rollout(spec)


__all__ = ["Chunk", "Keys", "Memory", "Replay", "Rollout", "make"]
