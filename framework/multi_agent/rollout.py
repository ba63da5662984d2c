"""A window of fresh transitions of a policy's agents, handed out once."""

from collections.abc import Iterable

import numpy as np

from algos.base import Array, Tree
from config.schema import RolloutSpec
from framework.checkpoint.journal import Frame, Journal
from framework.fragment import Columns
from framework.memory.chunk import Chunk, Keys
from framework.memory.rewards import clipped
from framework.memory.ring import in_order
from framework.multi_agent.splitter import Transitions


class SlotRollout:
    """Collects transitions until there are as many as in a full window of `rows` rows. Each slot's transitions are a
    column of the window [T, M], from its first line on; `valid` marks them. The last one of an unfinished trajectory
    is marked truncated, and in the column `cut`: its successor's value counts, and no later step follows it."""

    def __init__(self, spec: RolloutSpec, rows: int) -> None:
        self.spec, self.rows = spec, rows
        """rows: slots M of all environments that are collected from."""
        self._stepwise = spec.unit == "steps" and spec.length == 1 and spec.minibatch is None
        """True for algorithms that learn from every step: a window is a line, as soon as any agent has made one."""
        self._pending: Columns = {}
        self._slot = np.zeros(0, np.int64)
        self._fraction: float | None = None
        """Share of the run that was done when the collection of the pending transitions began."""

    def add(self, transitions: Transitions, fraction: float) -> None:
        """Adds transitions. fraction: share of the run that was done when their collection began."""
        if not self._slot.size:
            self._fraction = fraction
        columns = {**transitions.columns, "reward": clipped(transitions.columns["reward"], self.spec.reward_clip)}
        if self._slot.size:
            columns = {name: np.concatenate([value, columns[name]]) for name, value in self._pending.items()}
        slot = np.concatenate([self._slot, transitions.slot])
        if transitions.lost.size:
            self._break_off(columns, slot[: self._slot.size], transitions.lost)
        self._pending, self._slot = columns, slot

    @staticmethod
    def _break_off(columns: Columns, earlier: Array, lost: Array) -> None:
        """Truncates the latest of the earlier transitions of each slot whose worker was lost."""
        for slot in lost.tolist():
            if (mine := np.flatnonzero(earlier == slot)).size:
                columns["truncated"][mine[-1]] |= ~columns["terminated"][mine[-1]]

    def _ready(self) -> Array:
        """Returns [K], True for the pending transitions that can be handed out: with unit episodes those of complete
        trajectories; with an overlap those that are followed by another one, or end."""
        spec, ended = self.spec, self._pending["terminated"] | self._pending["truncated"]
        if spec.unit == "steps" and not spec.overlap:
            return np.ones(len(self._slot), bool)
        position, counts = in_order(self._slot, self.rows)
        if spec.unit == "episodes":
            until = np.zeros(self.rows, np.int64)
            np.maximum.at(until, self._slot[ended], position[ended] + 1)
            return position < until[self._slot]
        return ended | (position < counts[self._slot] - spec.overlap)

    def owed(self) -> int:
        spec = self.spec
        if not self._slot.size:
            return 0
        if spec.unit == "episodes":
            return int((self._pending["terminated"] | self._pending["truncated"]).sum() >= spec.length)
        ready = int(self._ready().sum())
        return int(ready > 0 if self._stepwise else ready >= spec.length * self.rows)

    def take(self, fraction: float, most: int = 1) -> Chunk | None:
        if not self.owed():
            return None
        spec, ready = self.spec, self._ready()
        position, _ = in_order(self._slot, self.rows)
        if self._stepwise:
            ready &= position == 0
            shown = position <= spec.overlap
        else:
            shown = ready
        window = self._window(shown, position, ready)
        began, left = self._fraction, ~ready
        self._pending = {name: value[left] for name, value in self._pending.items()}
        self._slot = self._slot[left]
        return Chunk(window, fraction=began)

    def _window(self, shown: Array, position: Array, fresh: Array) -> Columns:
        """Returns the shown transitions as columns [T, M, ...]; `valid` is True for the fresh ones."""
        spec = self.spec
        line, slot = position[shown], self._slot[shown]
        steps = int(line.max()) + 1
        if spec.sequence > 1:
            steps = -(-steps // spec.sequence) * spec.sequence
        steps = max(steps, 1 + spec.overlap if self._stepwise else 1)
        window = {}
        for name, value in self._pending.items():
            window[name] = np.zeros((steps, self.rows, *value.shape[1:]), value.dtype)
            window[name][line, slot] = value[shown]
        window["valid"] = np.zeros((steps, self.rows), bool)
        window["valid"][line, slot] = fresh[shown]
        if "action_mask" in window:
            for name in ("action_mask", "next_action_mask"):
                window[name][~window["valid"]] = True
        if spec.overlap == 0:
            self._cut(window)
        if spec.sequence != 1:
            ended = window["terminated"] | window["truncated"]
            window["first"] = np.concatenate([np.zeros_like(ended[:1]), ended[:-1]])
        if window["valid"].all():
            del window["valid"]
        return window

    @staticmethod
    def _cut(window: Columns) -> None:
        """Marks the last transition of each unfinished trajectory."""
        valid, ended = window["valid"], window["terminated"] | window["truncated"]
        following = np.concatenate([valid[1:], np.zeros_like(valid[:1])])
        cut = valid & ~following & ~ended
        if not valid.all():
            window["truncated"] |= cut
            window["cut"] = cut

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        """Does nothing: fresh steps have no priority."""

    def write(self, journal: Journal) -> None:
        """Writes nothing: the state holds everything."""

    def state(self) -> Tree:
        pending = dict(sorted(self._pending.items()))
        return {"pending": pending, "slot": self._slot, "rows": self.rows, "fraction": self._fraction}

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        """Restores `state`; drops transitions from before a resume with other environments."""
        if state["rows"] == self.rows:
            self._slot, self._fraction = np.array(state["slot"]), state["fraction"]
            self._pending = {name: np.array(value) for name, value in state["pending"].items()}
