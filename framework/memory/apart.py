"""Windows of fresh steps of several collectors that do not wait for one another."""

import numpy as np

from algos.base import Tree
from config.schema import RolloutSpec
from framework.fragment import Columns, Fragment
from framework.memory.chunk import Chunk, Keys
from framework.memory.rollout import Rollout


class Apart:
    """A rollout for each collector; full ones are handed out in the order in which they became full."""

    def __init__(self, spec: RolloutSpec, collectors: int) -> None:
        self._rollouts = [Rollout(spec) for _ in range(collectors)]
        self._full: list[int] = []

    def add(self, fragment: Fragment) -> None:
        number = fragment.origin.worker
        self._rollouts[number].add(fragment)
        if self._rollouts[number].owed() and number not in self._full:
            self._full.append(number)

    def owed(self) -> int:
        return len(self._full)

    def take(self, fraction: float, most: int = 1) -> Chunk | None:
        return self._rollouts[self._full.pop(0)].take(fraction) if self._full else None

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """Nothing here has a priority."""

    def state(self) -> Tree:
        return {"apart": [rollout.state() for rollout in self._rollouts]}

    def journal(self) -> Columns | None:
        return None

    def journalled(self) -> None:
        """There is no journal."""

    def oldest(self) -> int:
        return 0

    def newest(self) -> int:
        return 0

    def load_state(self, state: Tree, journal: list[Columns]) -> None:
        """Of another number of collectors, or of joined ones, nothing is kept: at most a window each."""
        saved = state.get("apart", [])
        if len(saved) == len(self._rollouts):
            for rollout, part in zip(self._rollouts, saved, strict=True):
                rollout.load_state(part, [])
        self._full = [number for number, rollout in enumerate(self._rollouts) if rollout.owed()]
