"""A window of fresh transitions of a policy's agents, handed out once."""

from collections.abc import Iterator

import numpy as np

from algos.base import Array, Tree
from config.model.memory_spec import RolloutSpec
from framework.collect.fragment import Columns
from framework.memory.chunk import Chunk
from framework.memory.ring import clipped, in_order
from framework.policies.splitter import Transitions


class SlotRollout:
    """Collects transitions until there are as many as in a full window of `rows` rows. Each slot's transitions are a
    column of the window [T, M], from its first line on; `valid` marks them. The last one of an unfinished trajectory
    is marked truncated, and in the column `cut`: its successor's value counts, and no later step follows it."""

    def __init__(self, spec: RolloutSpec, rows: int) -> None:
        self.spec, self.rows = spec, rows
        """rows: slots M of all environments that are collected from."""
        self._parts: list[tuple[Columns, Array]] = []
        """Columns [K, ...] and slots [K] of the pending transitions."""
        self._count = 0
        """Number of pending transitions; with unit episodes, of pending trajectories that have ended."""
        self._fraction: float | None = None
        """Share of the run that was done when the collection of the pending transitions began."""
        self._latest: float | None = None
        """The same for the newest ones."""

    @property
    def _stepwise(self) -> bool:
        """True for algorithms that learn from every step: a window is a line, as soon as any agent has made one."""
        return self.spec.unit == "steps" and self.spec.length == 1 and self.spec.minibatch is None

    def add(self, transitions: Transitions, fraction: float) -> None:
        """Adds transitions. fraction: share of the run that was done when their collection began."""
        if transitions.lost.size and self._parts:
            self._break_off(transitions.lost)
        self._latest = fraction
        if not transitions.slot.size:
            return
        if not self._parts:
            self._fraction = fraction
        columns = {**transitions.columns, "reward": clipped(transitions.columns["reward"], self.spec.reward_clip)}
        self._parts.append((columns, transitions.slot))
        self._count += self._counted(columns)

    def _counted(self, columns: Columns) -> int:
        if self.spec.unit == "episodes":
            return int((columns["terminated"] | columns["truncated"]).sum())
        return len(columns["reward"])

    def _joined(self) -> tuple[Columns, Array]:
        """Returns all pending transitions."""
        if len(self._parts) > 1:
            names = self._parts[0][0]
            columns = {name: np.concatenate([part[name] for part, _ in self._parts]) for name in names}
            self._parts = [(columns, np.concatenate([slot for _, slot in self._parts]))]
        return self._parts[0]

    def _break_off(self, lost: Array) -> None:
        """Truncates the latest of the pending transitions of each slot whose worker was lost."""
        columns, slots = self._joined()
        before = self._counted(columns)
        for slot in lost.tolist():
            if (mine := np.flatnonzero(slots == slot)).size:
                columns["truncated"][mine[-1]] |= ~columns["terminated"][mine[-1]]
        self._count += self._counted(columns) - before

    def _ready(self, columns: Columns, slot: Array) -> Array:
        """Returns [K], True for the pending transitions that can be handed out: with unit episodes those of complete
        trajectories; with an overlap also those that are followed by as many others."""
        spec, ends = self.spec, columns["terminated"] | columns["truncated"]
        if spec.unit == "steps" and not spec.overlap:
            return np.ones(len(slot), bool)
        position, counts = in_order(slot, self.rows)
        until = np.zeros(self.rows, np.int64) if spec.unit == "episodes" else counts - spec.overlap
        np.maximum.at(until, slot[ends], position[ends] + 1)
        return np.asarray(position < until[slot])

    def full(self) -> bool:
        """Returns True if `take` can return a window."""
        spec = self.spec
        if not self._parts:
            return False
        if spec.unit == "episodes":
            return self._count >= spec.length
        count = int(self._ready(*self._joined()).sum()) if spec.overlap else self._count
        return count > 0 if self._stepwise else count >= spec.length * self.rows

    def take(self) -> Chunk | None:
        """Returns a full window, and forgets its transitions; None if there is none."""
        return self._taken() if self.full() else None

    def drain(self) -> Iterator[Chunk]:
        """Yields all pending transitions that can be handed out, also less than a window."""
        while self._parts and self._ready(*self._joined()).any():
            yield self._taken()

    def _taken(self) -> Chunk:
        """Returns the transitions that can be handed out, and forgets them."""
        columns, slot = self._joined()
        ready = self._ready(columns, slot)
        position, _ = in_order(slot, self.rows)
        mask = ready
        if self._stepwise:
            ready &= position == 0
            mask = position <= self.spec.overlap
        window = self._window({name: value[mask] for name, value in columns.items()}, slot[mask], position[mask],
                              ready[mask])  # fmt: skip
        chunk, left = Chunk(window, fraction=self._fraction), ~ready
        self._keep({name: value[left] for name, value in columns.items()}, slot[left])
        return chunk

    def _keep(self, columns: Columns, slot: Array) -> None:
        """Replaces the pending transitions."""
        self._parts = [(columns, slot)] if slot.size else []
        self._count = self._counted(columns) if slot.size else 0
        self._fraction = self._latest

    def _window(self, columns: Columns, slot: Array, line: Array, fresh: Array) -> Columns:
        """Returns transitions as columns [T, M, ...]; `valid` is True for the fresh ones."""
        spec = self.spec
        steps = int(line.max()) + 1
        if spec.sequence > 1:
            steps = -(-steps // spec.sequence) * spec.sequence
        steps = max(steps, 1 + spec.overlap if self._stepwise else 1)
        window = {}
        for name, value in columns.items():
            window[name] = np.zeros((steps, self.rows, *value.shape[1:]), value.dtype)
            window[name][line, slot] = value
        window["valid"] = np.zeros((steps, self.rows), bool)
        window["valid"][line, slot] = fresh
        if "action_mask" in window:
            lacking = np.ones((steps, self.rows), bool)
            lacking[line, slot] = False
            for name in ("action_mask", "next_action_mask"):
                window[name][lacking] = True
        if spec.overlap == 0 and not self._stepwise:  # the next window goes on where a line ends
            self._cut(window)
        if spec.sequence != 1:
            ends = window["terminated"] | window["truncated"]
            window["first"] = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
        if spec.unit == "steps" and window["valid"].all():
            del window["valid"]
        return window

    @staticmethod
    def _cut(window: Columns) -> None:
        """Marks the last transition of each unfinished trajectory."""
        valid, ends = window["valid"], window["terminated"] | window["truncated"]
        following = np.concatenate([valid[1:], np.zeros_like(valid[:1])])
        cut = valid & ~following & ~ends
        if not valid.all():
            window["truncated"] |= cut
            window["cut"] = cut

    def state(self) -> Tree:
        columns, slot = self._joined() if self._parts else ({}, np.zeros(0, np.int64))
        return {
            "pending": dict(sorted(columns.items())),
            "slot": slot,
            "rows": self.rows,
            "fraction": self._fraction,
            "latest": self._latest,
        }

    def load_state(self, state: Tree) -> None:
        """Restores `state`; drops transitions from before a resume with other environments."""
        if state["rows"] == self.rows:
            self._latest = state["latest"]
            self._keep({name: np.array(value) for name, value in state["pending"].items()}, np.array(state["slot"]))
            self._fraction = state["fraction"]
