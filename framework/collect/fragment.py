"""Data that a collector returns: fragments of steps, and finished episodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from algos.base import Progress, Tree
from envs.base import Array, Step, VectorEnv
from framework.errors import JoystickError

Columns = dict[str, Array]
RETURN = "return_"
"""Beginning of the names of the numbers that are the return of a policy's agents."""


def check_finite(obs: Array, call: str) -> None:
    """Raises JoystickError for observations with NaN or infinity, as an environment in training would."""
    if obs.dtype.kind == "f" and not np.isfinite(obs).all():
        raise JoystickError(
            "{call}: the observation is not finite: {obs}", call=call, obs=" ".join(str(obs).split())[:200]
        )


class Origin(NamedTuple):
    """Collector and position that a fragment comes from."""

    worker: int = 0
    first_step: int = 0
    """Number of steps that this collector had made before it."""
    fraction: float = 0.0
    """Share of the planned run that was done when its collection began."""


@dataclass(frozen=True)
class Fragment:
    """T steps of N rows. The collector reuses the arrays: copy them to keep them."""

    columns: Columns
    """Arrays [T, N, ...]: obs, action, reward, next_obs, terminated, truncated, (valid), and columns of the policy."""
    start: Tree
    """state: policy state before the first step; first: True for rows that begin an episode with it."""
    origin: Origin

    @property
    def steps(self) -> int:
        return self.columns["reward"].shape[0]

    @property
    def rows(self) -> int:
        return self.columns["reward"].shape[1]


def join(fragments: Sequence[Fragment]) -> Fragment:
    """Joins fragments of several workers along the rows, in the order given."""
    if len(fragments) == 1:
        return fragments[0]
    columns = {name: np.concatenate([f.columns[name] for f in fragments], axis=1) for name in fragments[0].columns}
    states = [f.start["state"] for f in fragments]
    start = {
        "state": None if states[0] is None else np.concatenate(states),
        "first": np.concatenate([f.start["first"] for f in fragments]),
    }
    return Fragment(columns, start, fragments[0].origin)


class Episode(NamedTuple):
    """A finished episode."""

    worker: int
    row: int
    number: int
    """Number of the episode in this row, from 0."""
    seed: int
    total: float
    """Sum of rewards."""
    length: int
    terminated: bool
    steps: int
    """Number of steps that its collector had made when it ended."""
    phase: float | None = None
    """Phase of the curriculum that it was played in; None without one."""
    metrics: Mapping[str, float] = {}
    """Numbers that recorders gave it."""
    cut: bool = False
    """True if its collector cut it off, and the environment did not end it."""


class Record(NamedTuple):
    """Output of a recorder for one fragment, sent to the process that drives the run."""

    kind: str
    item: Any


class Accepted(NamedTuple):
    """A fragment was added to the memory. Steps and episodes are counted here and nowhere else."""

    steps: int
    """Number of transitions, without dummy steps."""
    rows: int
    first_step: int
    """Number of steps that its collector had made before it."""
    episodes: list[Episode]
    """Episodes that ended in it."""
    progress: Progress
    """Progress with which it was collected."""
    records: Sequence[Record] = ()
    """Records that its collector's recorders have made of it."""


def accepted(
    fragment: Fragment, episodes: list[Episode], progress: Progress, records: Sequence[Record] = ()
) -> Accepted:
    """Returns the event for a fragment that was added."""
    valid = fragment.columns.get("valid")
    steps = fragment.steps * fragment.rows if valid is None else int(valid.sum())
    return Accepted(steps, fragment.rows, fragment.origin.first_step, episodes, progress, records)


class Recorder:
    """Receives every step of a collector, for trajectories, videos and callbacks. Ignores all; a subclass overrides
    what it wants. On a resume the steps of the running episodes come again."""

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        """Receives the start of an episode in this row. obs [N, ...]: current observations of all rows."""

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        """Receives a step of all rows. obs [N, ...]: observations before it."""

    def end(self, episode: Episode, env: VectorEnv) -> Mapping[str, float]:
        """Receives the end of an episode. Returns numbers for its row in train.csv."""
        return {}

    def drop(self, row: int) -> None:
        """Discards the running episode of this row."""

    def collected(self, fragment: Fragment, env: VectorEnv) -> Iterable[Record]:
        """A fragment is complete. Returns the records that go with it: they take effect if it is accepted."""
        return ()
