"""A window of fresh steps, handed out once."""

from collections.abc import Iterable

import numpy as np

from algos.base import Tree
from config.model.memory_spec import RolloutSpec
from framework.collect.fragment import Columns, Fragment
from framework.disk.journal import Frame
from framework.memory.base import Memory
from framework.memory.chunk import Chunk
from framework.memory.ring import clipped


class Rollout(Memory):
    """Joins fragments along T until the window is full. Its state holds everything, so that it writes no journal."""

    def __init__(self, spec: RolloutSpec) -> None:
        self.spec = spec
        self._pending: list[Columns] = []
        self._fractions: list[float] = []
        """Share of the run that was done when the collection of each pending part began."""
        self._steps = 0
        self._episodes = 0
        """Number of episodes that ended in the pending steps."""

    def add(self, fragment: Fragment) -> None:
        spec = self.spec
        self._cut(fragment)
        whole = spec.unit == "steps" and not self._pending and not spec.overlap and fragment.steps >= spec.length
        # a fragment that fills the window is learned from before the collector reuses its arrays
        columns = fragment.columns if whole else {name: value.copy() for name, value in fragment.columns.items()}
        columns = {**columns, "reward": clipped(columns["reward"], spec.reward_clip)}
        if spec.unit == "episodes":
            columns["fresh"] = np.ones_like(columns["terminated"])
        self._pending.append(columns)
        self._fractions.append(fragment.origin.fraction)
        self._steps += fragment.steps
        self._episodes += int(_ends(columns).sum())

    def _cut(self, fragment: Fragment) -> None:
        """Truncates the pending episodes of rows that begin an episode now although the last one did not end (a
        collector was lost). Drops pending steps of another number of rows, which are from before a resume."""
        if not self._pending:
            return
        last = self._pending[-1]
        if last["reward"].shape[1] != fragment.rows:
            self._keep(None)
        else:
            last["truncated"][-1] |= fragment.start["first"] & ~last["terminated"][-1]

    def owed(self) -> int:
        spec = self.spec
        full = self._episodes >= spec.length if spec.unit == "episodes" else self._steps >= spec.length + spec.overlap
        return int(full)

    def take(self, fraction: float, most: int = 1) -> Chunk | None:
        spec = self.spec
        if not self.owed():
            return None
        if spec.unit == "episodes":
            return self._take_episodes()
        columns, began = self._joined(), self._fractions[0]
        self._keep({name: value[spec.length :].copy() for name, value in columns.items()} if spec.overlap else None)
        return Chunk(self._with_beginnings(columns), fraction=began)

    def _take_episodes(self) -> Chunk:
        """Returns each row up to the end of its last complete episode, and keeps the steps after it."""
        columns, began = self._joined(), self._fractions[0]
        ends = _ends(columns)
        steps = len(ends)
        reach = np.where(ends.any(0), steps - ends[::-1].argmax(0), 0)
        complete = np.arange(steps)[:, None] < reach
        fresh = columns.pop("fresh")
        valid, left = complete & fresh & columns.get("valid", True), fresh & ~complete
        if left.any():
            first = int(left.any(1).argmax())
            self._keep({name: value[first:].copy() for name, value in {**columns, "fresh": left}.items()})
        else:
            self._keep(None)
        last = int(reach.max())
        window = {name: value[:last] for name, value in columns.items()}
        return Chunk(self._with_beginnings({**window, "valid": valid[:last]}), fraction=began)

    def _with_beginnings(self, columns: Columns) -> Columns:
        """Adds the column `first` if samples are sequences."""
        if self.spec.sequence == 1:
            return columns
        ends = _ends(columns)
        if "valid" in columns:  # the state is reset after a step that belongs to no episode, too
            ends = ends | ~columns["valid"]
        return {**columns, "first": np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])}

    def _joined(self) -> Columns:
        """Returns all pending columns, joined along T."""
        parts = self._pending
        return parts[0] if len(parts) == 1 else {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}

    def _keep(self, columns: Columns | None) -> None:
        """Replaces the pending steps."""
        self._pending = [] if columns is None else [columns]
        self._fractions = [] if columns is None else self._fractions[-1:]
        self._steps = 0 if columns is None else len(columns["reward"])
        self._episodes = 0

    def state(self) -> Tree:
        # in one order, whether the columns come from a collector or from a checkpoint
        pending = [dict(sorted(part.items())) for part in self._pending]
        return {"pending": pending, "fractions": list(self._fractions)}

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        # drops windows that were not joined; copies, since arrays from another process cannot be written to
        self._pending = [{name: value.copy() for name, value in part.items()} for part in state.get("pending", [])]
        self._fractions = list(state.get("fractions", [0.0] * len(self._pending)))
        self._steps = sum(part["reward"].shape[0] for part in self._pending)
        self._episodes = sum(int(_ends(part).sum()) for part in self._pending)


def _ends(columns: Columns) -> np.ndarray:
    """Returns [T, N], true where an episode ends with this step; false for steps that were handed out before."""
    ends = columns["terminated"] | columns["truncated"]
    return ends & columns["fresh"] if "fresh" in columns else ends
