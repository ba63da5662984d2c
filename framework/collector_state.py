"""Where a collector stands: its rows, and the actions since the oldest running episode began."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from algos.base import Tree, stream_state
from envs.base import Array


@dataclass
class Rows:
    """Small arrays [N, ...] of the running episodes, copied at the end of every round."""

    obs: Array
    episode: Array
    seed: Array
    length: Array
    total: Array
    born: Array
    """Index on the tape of the first action of the running episode."""
    state: Array | None = None
    """What the policy carries from step to step."""

    def copy(self) -> "Rows":
        obs, episode, seed, length, total, born = (
            array.copy() for array in (self.obs, self.episode, self.seed, self.length, self.total, self.born)
        )
        return Rows(obs, episode, seed, length, total, born, self.state)


class Mark(NamedTuple):
    """Where a collector stood when a round was complete."""

    rows: Rows
    end: int
    """Index on the tape of the next action."""
    rng: Tree
    steps: int


@dataclass
class Tape:
    """The actions of all rows, one entry per step; an index counts from the first that there ever was."""

    FORGOTTEN_AT_ONCE: ClassVar = 4096

    actions: list[Array] = field(default_factory=list)
    start: int = 0
    """Index of the oldest action that is still here."""

    @property
    def end(self) -> int:
        """Index of the next action."""
        return self.start + len(self.actions)

    def between(self, first: int, end: int, rows: int) -> Array:
        """The actions [T, N, ...] from one index to another."""
        chosen = self.actions[first - self.start : end - self.start]
        return np.stack(chosen) if chosen else np.zeros((0, rows))

    def forget(self, before: int) -> None:
        """Nobody asks for earlier ones again."""
        if before - self.start > self.FORGOTTEN_AT_ONCE:
            del self.actions[: before - self.start]
            self.start = before


def beginning(episode: Array, steps: int, incarnation: int, rng: np.random.Generator) -> Tree:
    """The state of a collector that is about to begin these episodes [N], in place of one that was lost."""
    return {"rows": {"episode": episode}, "steps": steps, "incarnation": incarnation, "rng": stream_state(rng)}
