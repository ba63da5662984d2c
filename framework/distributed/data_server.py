"""A Memory in a process of its own."""

import os
from typing import Any

import numpy as np

from algos.base import EnvSpec, Tree
from config.loader import RunConfig
from config.schema import RolloutSpec
from framework import build
from framework.fragment import Fragment, join
from framework.memory.chunk import Chunk, Keys


class DataServer:
    """Keeps what workers collect, and says how many chunks may be learned from."""

    def __init__(self, config: RunConfig, spec: EnvSpec, workers: int, apart: bool) -> None:
        env = build.make_env(config, 1)
        self.memory = build.make_memory(config, spec, config.general.seed, env.goal, workers, apart)
        self.joined = isinstance(config.algo.memory(spec.rows), RolloutSpec) and not apart

    def add(self, *fragments: Fragment) -> int:
        """Fragments of different workers, in the order of their numbers. Returns how much is owed."""
        for fragment in [join(fragments)] if self.joined else fragments:
            self.memory.add(fragment)
        return self.memory.owed()

    def take(self, fraction: float, most: int) -> Chunk | None:
        """A chunk of at most so many minibatches, where one is owed."""
        return self.memory.take(fraction, most)

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """New priorities."""
        self.memory.feedback(keys, priorities)

    def load_state(self, state: Tree, journal: list) -> int:
        """Stand where state was taken. Returns how much is owed."""
        self.memory.load_state(state, journal)
        return self.memory.owed()

    def ask(self, name: str) -> Any:
        """What the memory itself says to this question: state, journal, oldest, newest, or that it is journalled."""
        return getattr(self.memory, name)()

    def pid(self) -> int:
        """Its process."""
        return os.getpid()
