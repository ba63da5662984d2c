"""Windows of fresh steps from several collectors that do not wait for one another."""

from collections import deque
from collections.abc import Iterable

import numpy as np

from algos.base import Tree
from config.model.memory_spec import RolloutSpec
from framework.collect.fragment import Fragment
from framework.disk.journal import Frame
from framework.memory.base import Memory
from framework.memory.chunk import Chunk
from framework.memory.rollout import Rollout


class PerWorker(Memory):
    """One rollout per collector. Hands out full windows in the order in which they became full."""

    def __init__(self, spec: RolloutSpec, collectors: int) -> None:
        self._rollouts = [Rollout(spec) for _ in range(collectors)]
        self._full: deque[Chunk] = deque()

    def add(self, fragment: Fragment) -> None:
        rollout = self._rollouts[fragment.origin.worker]
        rollout.add(fragment)
        while (chunk := rollout.take(0.0)) is not None:
            columns = {name: _kept(value, fragment.columns.get(name)) for name, value in chunk.columns.items()}
            self._full.append(chunk._replace(columns=columns))

    def owed(self) -> int:
        return len(self._full)

    def take(self, fraction: float, most: int = 1) -> Chunk | None:
        return self._full.popleft() if self._full else None

    def state(self) -> Tree:
        return {
            "apart": [rollout.state() for rollout in self._rollouts],
            "full": [dict(sorted(chunk.columns.items())) for chunk in self._full],
            "fractions": [chunk.fraction for chunk in self._full],
        }

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        """Drops windows that were not full if they are those of another number of collectors, or joined ones."""
        saved = state.get("apart", [])
        if len(saved) == len(self._rollouts):
            for rollout, part in zip(self._rollouts, saved, strict=True):
                rollout.load_state(part, ())
        windows = state.get("full", [])
        fractions = state.get("fractions", [None] * len(windows))
        self._full = deque(Chunk(window, fraction=at) for window, at in zip(windows, fractions, strict=True))


def _kept(column: np.ndarray, of_fragment: np.ndarray | None) -> np.ndarray:
    """Returns a column that stays as it is: a copy if it belongs to the fragment, whose arrays are reused."""
    return column.copy() if column is of_fragment else column
