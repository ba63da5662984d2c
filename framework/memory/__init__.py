"""Memories store the columns of fragments, decide when there is enough to learn from, and hand out chunks."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import torch

from algos.base import Tree
from config.model.memory_spec import MOST_AT_ONCE, MemorySpec, ReplaySpec, RolloutSpec
from envs.base import Goal
from framework.collect.fragment import Fragment
from framework.disk.journal import Frame, Journal, Span
from framework.memory.chunk import Chunk, Keys
from framework.memory.per_worker import PerWorker
from framework.memory.replay import Replay
from framework.memory.rollout import Rollout


class Memory(Protocol):
    """The contract. Between rounds, `state` and what `write` appended to a journal describe a memory completely."""

    @property
    def offline(self) -> bool:
        """True while updates are owed for which nothing has to be collected."""

    @property
    def held_out(self) -> Chunk | None:
        """A minibatch of given data that are kept from learning; None if there are none."""

    def add(self, fragment: Fragment) -> None:
        """Stores a copy of the fragment."""

    def take(self, fraction: float, most: int = MOST_AT_ONCE) -> Chunk | None:
        """Returns the samples to learn from now, or None if no update is owed. fraction: share of the run that is
        done. most: largest number of minibatches, if the memory chooses it."""

    def owed(self) -> int:
        """Returns the number of minibatches (replay) or windows of fresh steps (rollouts) that take() can return."""

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """Sets new priorities [K, B] of samples. Ignores samples that have been overwritten since."""

    def state(self) -> Tree:
        """Returns counters and random streams, and everything that write() does not append."""

    def write(self, journal: Journal) -> Span | None:
        """Appends everything that the journal does not hold yet, frame by frame. Returns the part of the journal that
        load_state() will need, or None if this memory keeps everything in its state."""

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        """Restores a memory from its state and from the part of the journal that write() returned."""


def make(
    spec: MemorySpec,
    rng: np.random.Generator,
    goal: Goal | None = None,
    collectors: int = 1,
    apart: bool = False,
    most: int = MOST_AT_ONCE,
    depth: int = 0,
    mirror: torch.device | None = None,
) -> Memory:
    """Returns the memory that an algorithm's config asks for. goal: that of the environment. apart: True if the steps
    of several collectors form windows of their own. most: largest number of minibatches in a chunk. depth,
    mirror: see Replay."""
    if isinstance(spec, ReplaySpec):
        return Replay(spec, rng, goal, collectors, most, depth, mirror)
    return rollout(spec, collectors, apart)


def rollout(spec: RolloutSpec, collectors: int = 1, apart: bool = False) -> Rollout | PerWorker:
    """Returns the memory of fresh steps of these collectors."""
    return PerWorker(spec, collectors) if apart else Rollout(spec)


__all__ = ["Chunk", "Keys", "Memory", "Replay", "Rollout", "make", "rollout"]
