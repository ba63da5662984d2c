"""Collector state for exact resume: data of the running episodes, and the actions that replay them from their seeds."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from algos.base import Tree, stream_state
from envs.base import Array

LONGEST_REPLAY = 100_000
"""Number of steps after which an episode is too long to be replayed: a resume begins a new one in that row, and says
so. Bounds the tape, the size of a checkpoint and the time of a resume where episodes never end."""


@dataclass
class Rows:
    """Small arrays [N, ...] of the running episodes. Copied at the end of every round."""

    obs: Array
    episode: Array
    seed: Array
    length: Array
    total: Array
    born: Array
    """Index on the tape of the first action of the running episode."""
    phase: Array
    """Phase of the curriculum that each running episode is played in."""
    state: Array | None = None
    """Recurrent state of the policy [N, S]."""

    def copy(self) -> "Rows":
        small = (self.obs, self.episode, self.seed, self.length, self.total, self.born, self.phase)
        obs, episode, seed, length, total, born, phase = (array.copy() for array in small)
        return Rows(obs, episode, seed, length, total, born, phase, self.state)


class Mark(NamedTuple):
    """State of a collector at the end of a round."""

    rows: Rows
    end: int
    """Index on the tape of the next action."""
    rng: Tree
    steps: int

    def first_action(self) -> int:
        """Returns the index on the tape of the first action that a resume replays. Episodes of more than
        LONGEST_REPLAY steps are not replayed."""
        born = self.rows.born
        return int(np.where(self.end - born > LONGEST_REPLAY, self.end, born).min())


@dataclass
class Tape:
    """Actions of all rows, one entry per step. An index counts from the first action of the run."""

    FORGOTTEN_AT_ONCE: ClassVar = 4096

    actions: list[Array] = field(default_factory=list)
    start: int = 0
    """Index of the oldest action on the tape."""

    @property
    def end(self) -> int:
        """Returns the index of the next action."""
        return self.start + len(self.actions)

    def between(self, first: int, end: int, rows: int) -> Array:
        """Returns the actions [T, N, ...] with indices first .. end - 1."""
        chosen = self.actions[first - self.start : end - self.start]
        return np.stack(chosen) if chosen else np.zeros((0, rows))

    @property
    def long(self) -> bool:
        """True if there may be enough actions to forget."""
        return len(self.actions) > self.FORGOTTEN_AT_ONCE

    def forget(self, before: int) -> None:
        """Drops actions before this index, many at a time."""
        if before - self.start > self.FORGOTTEN_AT_ONCE:
            del self.actions[: before - self.start]
            self.start = before


def beginning(
    episode: Array, steps: int, incarnation: int, rng: np.random.Generator, phase: float | None = None
) -> Tree:
    """Returns the state of a collector that replaces a lost one and is about to begin these episodes [N]. phase: that
    of the curriculum; None: the first one."""
    rows = {"episode": episode}
    return {"rows": rows, "phase": phase, "steps": steps, "incarnation": incarnation, "rng": stream_state(rng)}
