"""Windows of fresh steps, each with as many transitions of an expert beside it."""

from collections.abc import Iterable

import numpy as np

from algos.base import Tree
from config.model.memory_spec import EXPERT
from framework.collect.fragment import Columns, Fragment
from framework.disk.journal import Frame
from framework.memory.base import Memory
from framework.memory.chunk import Chunk
from framework.memory.offline_data import OfflineData, check_same
from framework.memory.per_worker import PerWorker
from framework.memory.rollout import Rollout


class ExpertWindows(Memory):
    """A memory of fresh steps. Each window [T, N, ...] that it hands out gets the columns of EXPERT, of the same shape:
    transitions drawn uniformly from the given data. The data are in no checkpoint: it keeps their SHA-256 instead."""

    def __init__(self, fresh: Rollout | PerWorker, rng: np.random.Generator, data: OfflineData) -> None:
        """rng: stream of the samples from the data."""
        self.fresh, self.rng, self.sha256 = fresh, rng, data.sha256
        self._count, self._data = data.transitions, self._whole(data)

    @staticmethod
    def _whole(data: OfflineData) -> Columns:
        """Returns the columns of all pieces, which are never in memory beside them."""
        whole: Columns = {}
        start = 0
        for piece in data.pieces():
            stop = start + len(piece["reward"])
            for name, beside in EXPERT.items():
                if beside not in whole:
                    whole[beside] = np.empty((data.transitions, *piece[name].shape[1:]), piece[name].dtype)
                whole[beside][start:stop] = piece[name]
            start = stop
        return whole

    def add(self, fragment: Fragment) -> None:
        self.fresh.add(fragment)

    def owed(self) -> int:
        return self.fresh.owed()

    def take(self, fraction: float, most: int = 1) -> Chunk | None:
        chunk = self.fresh.take(fraction, most)
        if chunk is None:
            return None
        drawn = self.rng.integers(self._count, size=chunk.columns["reward"].shape)
        return chunk._replace(columns={**chunk.columns, **{name: data[drawn] for name, data in self._data.items()}})

    def state(self) -> Tree:
        return {"sha256": self.sha256, "rng": self.rng.bit_generator.state, "fresh": self.fresh.state()}

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        check_same(state["sha256"], self.sha256)
        self.rng.bit_generator.state = state["rng"]
        self.fresh.load_state(state["fresh"], frames)
