"""The data server: a memory in a process of its own."""

import os
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import numpy as np

from algos.base import EnvSpec, Tree
from config.read.loader import RunConfig
from framework.assemble import build
from framework.collect.fragment import Fragment, join
from framework.disk.journal import Frame, Position, Span
from framework.memory.chunk import Chunk, Keys
from framework.policies.policy_plan import plan


class DataServer:
    """Stores the fragments of all workers, and counts how much may be learned from them."""

    def __init__(self, config: RunConfig, spec: EnvSpec, workers: int, apart: bool) -> None:
        with closing(build.make_env(config, 1)) as env:
            self.memory = build.make_memory(config, spec, config.general.seed, env.goal, workers, apart)
        its = plan(config, spec)
        self.joined = (its.fresh or its.joins) and not apart

    def add(self, *fragments: Fragment) -> int:
        """Adds fragments of different workers, in the order of their numbers. Returns how many updates are due."""
        for fragment in [join(fragments)] if self.joined else fragments:
            self.memory.add(fragment)
        return self.memory.owed()

    def take(self, fraction: float, most: int) -> Chunk | None:
        """Returns a chunk of at most `most` minibatches; None if no update is due."""
        return self.memory.take(fraction, most)

    def offline(self) -> bool:
        """Returns True while updates from given data alone are owed."""
        return self.memory.offline

    def held_out(self) -> Chunk | None:
        """Returns a minibatch of given data that are kept from learning."""
        return self.memory.held_out

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """Updates the priorities of sampled transitions."""
        self.memory.feedback(keys, priorities)

    def state(self) -> Tree:
        """Returns the memory's state: everything that its journal does not hold."""
        return self.memory.state()

    def write(self, journal: Any) -> tuple[Position, Span | OSError | None]:
        """Appends to the journal. Returns its end, and the part that the memory needs or the error of the disk."""
        try:
            span = self.memory.write(journal)
        except OSError as error:
            return journal.end, error
        return journal.end, span

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> int:
        """Restores the memory. Returns the number of updates that are owed."""
        self.memory.load_state(state, frames)
        return self.memory.owed()

    def node(self) -> str:
        """Returns the node of the cluster that it is on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def pid(self) -> int:
        """Returns the id of its process."""
        return os.getpid()
