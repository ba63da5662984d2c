"""A window of fresh steps, handed out once."""

import numpy as np

from algos.base import Tree
from config.schema import RolloutSpec
from framework.fragment import Columns, Fragment
from framework.memory.chunk import Chunk, Keys


class Rollout:
    """Joins fragments along T until the window is full."""

    def __init__(self, spec: RolloutSpec) -> None:
        self.spec = spec
        self._pending: list[Columns] = []
        self._steps = 0

    def add(self, fragment: Fragment) -> None:
        whole = not self._pending and fragment.steps >= self.spec.length
        # A fragment that fills the window is learned from before the collector reuses its arrays.
        columns = fragment.columns if whole else {name: value.copy() for name, value in fragment.columns.items()}
        self._pending.append(columns)
        self._steps += fragment.steps

    def take(self, fraction: float) -> Chunk | None:
        if self._steps < self.spec.length:
            return None
        parts, self._pending, self._steps = self._pending, [], 0
        if len(parts) == 1:
            return Chunk(parts[0])
        return Chunk({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """Nothing here has a priority."""

    def state(self) -> Tree:
        return {"pending": self._pending}

    def journal(self) -> Columns | None:
        return None

    def journalled(self) -> None:
        """There is no journal."""

    def oldest(self) -> int:
        return 0

    def newest(self) -> int:
        return 0

    def load_state(self, state: Tree, journal: list[Columns]) -> None:
        self._pending = state["pending"]
        self._steps = sum(part["reward"].shape[0] for part in self._pending)
