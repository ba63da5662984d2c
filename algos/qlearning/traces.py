"""Eligibility traces: how much each earlier pair of state and action of an episode learns from the present TD error."""

from typing import NamedTuple

import numpy as np

from algos.base import Array, Tree

LEAST = 1e-8
"""Trace below which a pair is forgotten."""


class Traced(NamedTuple):
    """Pairs [K] with a trace, in the order of their last visits."""

    row: Array
    """Row of the environments in which the pair was visited."""
    state: Array
    action: Array
    value: Array
    """Its trace."""

    def only(self, kept: Array) -> "Traced":
        """Returns those where kept [K] is true."""
        return Traced(*(column[kept] for column in self))


class Traces:
    """The traces of all rows. They fall by a factor in each step, and a visit adds 1 (accumulating) or sets 1
    (replacing; Singh and Sutton, 1996)."""

    def __init__(self, decay: float, replacing: bool) -> None:
        self.decay, self.replacing = decay, replacing
        self.all = Traced(*(np.zeros(0, kind) for kind in (np.int64, np.int64, np.int64, np.float64)))
        self.after = np.zeros(0, np.int64)
        """State [N] in which the next step of each row begins, if it goes on with the episode."""

    def visit(self, row: Array, state: Array, action: Array, begins: Array, after: Array) -> Traced:
        """Returns all traces after steps of these rows [B], each of which names a row once. A row begins anew where
        `begins` is not the state `after` its last step."""
        if len(self.after) <= row.max():
            self.after = np.append(self.after, np.full(row.max() + 1 - len(self.after), -2))
        anew, seen = np.zeros((2, len(self.after)), bool)
        anew[row], seen[row] = begins != self.after[row], True
        old = self.all.only(~anew[self.all.row])
        value = np.where(seen[old.row], old.value * self.decay, old.value)
        place = np.zeros(len(self.after), np.int64)
        place[row] = np.arange(len(row))
        again = seen[old.row] & (old.state == state[place[old.row]]) & (old.action == action[place[old.row]])
        visited = np.ones(len(row))
        if not self.replacing:
            visited[place[old.row[again]]] += value[again]
        old = old._replace(value=value).only(~again & (value >= LEAST))
        self.after[row] = after
        new = Traced(row, state, action, visited)
        self.all = Traced(*(np.concatenate(columns) for columns in zip(old, new, strict=True)))
        return self.all

    def state(self) -> Tree:
        return {**{name: value.copy() for name, value in self.all._asdict().items()}, "after": self.after.copy()}

    def load_state(self, state: Tree) -> None:
        row, pair_state, action = (np.array(state[name], np.int64) for name in ("row", "state", "action"))
        self.all = Traced(row, pair_state, action, np.array(state["value"], np.float64))
        self.after = np.array(state["after"], np.int64)
