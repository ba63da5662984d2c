"""Memories store the columns of fragments, decide when there is enough to learn from, and hand out chunks."""

import numpy as np
import torch

from config.model.memory_spec import MOST_AT_ONCE, MemorySpec, ReplaySpec, RolloutSpec
from envs.base import Goal
from framework.memory.base import Memory
from framework.memory.chunk import Chunk, Keys
from framework.memory.per_worker import PerWorker
from framework.memory.replay import Replay
from framework.memory.rollout import Rollout


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
