"""Given data as a memory takes it: the chosen episodes, checked against the environment."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import Space

from config.schema import DataSpec
from framework.dataset import Dataset, open_data
from framework.dataset.fit import problems
from framework.errors import JoystickError
from framework.fragment import Columns
from framework.seeding import stream

if TYPE_CHECKING:
    from algos.base import EnvSpec


class Given:
    """The transitions of the chosen episodes, piece by piece."""

    def __init__(self, data: Dataset, spec: "EnvSpec", chosen: np.ndarray | None = None, returns: bool = False) -> None:
        """spec: the environment, whose types the columns get. chosen: True for the episodes that are used, in the order
        of the data; None: all of them. returns: adds the columns of Earnings."""
        self.data, self.chosen, self.returns = data, chosen, returns
        self._spaces: dict[str, Space] = {name: spec.observation_space for name in ("obs", "next_obs")}
        self._spaces["action"] = spec.action_space
        self.sha256: str = data.sha256
        self.transitions = data.summary.transitions
        if chosen is not None:
            self.transitions = sum(len(piece["reward"]) for piece in self.pieces())

    def pieces(self) -> Iterator[Columns]:
        """Yields columns [K, ...] in order of time."""
        first, earnings = 0, Earnings()
        for piece in self.data.pieces():
            ended = piece["terminated"] | piece["truncated"]
            number = first + np.concatenate([[0], np.cumsum(ended)[:-1]]).astype(np.int64)
            first += int(ended.sum())
            if self.returns:
                piece = piece | earnings.of(piece["reward"], ended)
                piece["episode_return"] = self.data.summary.returns[number].astype(np.float32)
            if self.chosen is not None:
                keep = self.chosen[number]
                piece = {name: column[keep] for name, column in piece.items()}
            if len(piece["reward"]):
                yield {name: self._typed(name, column) for name, column in piece.items()}

    def _typed(self, name: str, column: np.ndarray) -> np.ndarray:
        """Returns a column in the shape and type that the environment's own have."""
        if (space := self._spaces.get(name)) is None:
            return column
        return column.reshape(len(column), *(space.shape or ())).astype(space.dtype, copy=False)


class Earnings:
    """Counts the steps and adds up the rewards of episodes, which may go on in the next piece."""

    def __init__(self) -> None:
        self._earned, self._steps = 0.0, 0

    def of(self, reward: np.ndarray, ended: np.ndarray) -> Columns:
        """Returns `earned` and `timestep` of the next steps [K]: the sum of the rewards before each, and its number."""
        place, total = np.arange(len(reward)), np.cumsum(reward, dtype=np.float64)
        begins = np.concatenate([[False], ended[:-1]])
        start = np.maximum.accumulate(np.where(begins, place, 0))
        before = total - reward
        earned, steps = before - before[start], place - start
        going_on = start == 0
        earned[going_on] += self._earned
        steps[going_on] += self._steps
        self._earned, self._steps = (0.0, 0) if ended[-1] else (float(earned[-1] + reward[-1]), int(steps[-1]) + 1)
        return {"earned": earned.astype(np.float32), "timestep": steps.astype(np.int32)}


def given(wanted: DataSpec, spec: "EnvSpec", seed: int) -> Given:
    """Opens the data that the settings name. Raises JoystickError if they do not suit the environment."""
    data = open_data(wanted.paths)
    if faults := problems(data.summary, spec.observation_space, spec.action_space):
        raise JoystickError("; ".join(f"algo_cfg.data: {fault}" for fault in faults))
    return Given(data, spec, _chosen(wanted, np.asarray(data.summary.returns), seed), wanted.returns)


def check_same(then: str, now: str) -> None:
    """Raises JoystickError if the data of a checkpoint, by their SHA-256, are not those of now."""
    if then != now:
        raise JoystickError(
            f"algo_cfg.data: the files have changed since the checkpoint (SHA-256 {then[:12]} then, {now[:12]} now); "
            "a resume needs the same data"
        )


def _chosen(wanted: DataSpec, returns: np.ndarray, seed: int) -> np.ndarray | None:
    """Returns which episodes are used: the best share, and of these a random share; None if all are."""
    if wanted.top == 1.0 and wanted.fraction == 1.0:
        return None
    best = np.argsort(-returns, kind="stable")[: max(1, round(wanted.top * len(returns)))]
    drawn = stream(seed, "data").permutation(best)[: max(1, round(wanted.fraction * len(best)))]
    chosen = np.zeros(len(returns), bool)
    chosen[drawn] = True
    return chosen
