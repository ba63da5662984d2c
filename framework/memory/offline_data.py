"""Given data as a memory takes it: the chosen episodes, checked against the environment."""

import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import Space

from config.model.composite import Composite, obeys
from config.model.memory_spec import DataSpec
from config.tell.language import tr
from framework.collect.fragment import Columns
from framework.dataset import Dataset, minari_sets
from framework.dataset.columns import MASKS
from framework.dataset.fit import own_space, problems
from framework.dataset.sources import files, naming_setting
from framework.dataset.summary import Summary
from framework.errors import JoystickError
from framework.screen.formatting import counted
from framework.seeding import stream

if TYPE_CHECKING:
    from algos.base import EnvSpec


class OfflineData:
    """The transitions of the chosen episodes, piece by piece."""

    held_out: "OfflineData | None" = None
    """Transitions of the episodes that are kept from learning; None without data_held_out."""

    def __init__(
        self, data: Dataset, spec: "EnvSpec", chosen: np.ndarray | None = None, returns: np.ndarray | None = None
    ) -> None:
        """spec: the environment, whose types the columns get. chosen: True for the episodes that are used, in the order
        of the data; None: all of them. returns: of the episodes that are learned from; adds the columns of
        Earnings, the return of the episode, and the highest and the largest absolute one of all. None: no such
        columns."""
        self.data, self.chosen, self.returns = data, chosen, returns
        self.masked = bool(data.summary.mask)
        """False: action masks of the data, if there are any, are left out."""
        self._spaces: dict[str, Space] = {name: spec.observation_space for name in ("obs", "next_obs")}
        self._spaces["action"] = spec.action_space
        self._starts = dict(zip(("obs", "next_obs", "action"), (spec.starts[0], *spec.starts), strict=True))
        """First values of the environment's own whole numbers, which the files have."""
        self.sha256: str = data.sha256
        self.transitions = transitions(data.summary, chosen)

    def pieces(self) -> Iterator[Columns]:
        """Yields columns [K, ...] in order of time."""
        first, steps, earnings = 0, 0, Earnings()
        for piece in self.data.pieces():
            self._check_whole(piece, steps)
            self._check_legal(piece, steps)
            steps += len(piece["reward"])
            if not self.masked:
                piece = {name: column for name, column in piece.items() if name not in MASKS}
            ends = piece["terminated"] | piece["truncated"]
            number = first + np.concatenate([[0], np.cumsum(ends)[:-1]]).astype(np.int64)
            first += int(ends.sum())
            if self.returns is not None:
                piece = piece | earnings.of(piece["reward"], ends)
                piece["episode_return"] = self.data.summary.returns[number].astype(np.float32)
                piece["highest_return"] = np.full(len(number), self.returns.max(), np.float32)
                piece["largest_return"] = np.full(len(number), np.abs(self.returns).max(), np.float32)
            if self.chosen is not None:
                keep = self.chosen[number]
                piece = {name: column[keep] for name, column in piece.items()}
            if len(piece["reward"]):
                yield {name: self._typed(name, column) for name, column in piece.items()}

    def _check_whole(self, piece: Columns, steps: int) -> None:
        """Raises JoystickError if a choice in a flat action is not a whole number. steps: number of those before."""
        if not isinstance(space := self._spaces["action"], Composite):
            return
        numbers = piece["action"][:, space.choices.column]
        if (broken := np.flatnonzero((numbers != np.round(numbers)).any(axis=1))).size:
            step = int(broken[0])
            raise JoystickError(
                "algo_cfg.data: action {action} of {where} has a part that is not a whole number; the environment "
                "has {space}",
                action=piece["action"][step].tolist(),
                where=self.data.summary.where(steps + step),
                space=space,
            )

    def _check_legal(self, piece: Columns, steps: int) -> None:
        """Raises JoystickError if a step took an action that its own mask forbids. steps: number of those before."""
        if not self.masked:
            return
        space = self._spaces["action"]
        action = self._typed("action", piece["action"]) - getattr(space, "start", 0)
        illegal = np.flatnonzero(~obeys(action, piece["action_mask"], space))
        if illegal.size:
            step = int(illegal[0])
            where, action = self.data.summary.where(steps + step), piece["action"][step]
            raise JoystickError(
                "algo_cfg.data: action {action} of {where} is not legal by its own action_mask",
                action=action,
                where=where,
            )

    def _typed(self, name: str, column: np.ndarray) -> np.ndarray:
        """Returns a column in the shape and type that the environment's own have."""
        if (space := self._spaces.get(name)) is None:
            return column
        column, start = column.reshape(len(column), *(space.shape or ())), self._starts[name]
        return (column - start if np.any(start) else column).astype(space.dtype, copy=False)


class Earnings:
    """Counts the steps and adds up the rewards of episodes, which may go on in the next piece."""

    def __init__(self) -> None:
        self._earned, self._steps = 0.0, 0

    def of(self, reward: np.ndarray, ends: np.ndarray) -> Columns:
        """Returns `earned` and `timestep` of the next steps [K]: the sum of the rewards before each, and its number."""
        place, total = np.arange(len(reward)), np.cumsum(reward, dtype=np.float64)
        begins = np.concatenate([[False], ends[:-1]])
        start = np.maximum.accumulate(np.where(begins, place, 0))
        before = total - reward
        earned, steps = before - before[start], place - start
        going_on = start == 0
        earned[going_on] += self._earned
        steps[going_on] += self._steps
        self._earned, self._steps = (0.0, 0) if ends[-1] else (float(earned[-1] + reward[-1]), int(steps[-1]) + 1)
        return {"earned": earned.astype(np.float32), "timestep": steps.astype(np.int32)}


def select_data(data_spec: DataSpec, spec: "EnvSpec", seed: int, masked: bool = True) -> OfflineData:
    """Opens the data that the settings name. Raises JoystickError if they do not suit the environment. masked: False
    leaves out the action masks of the data."""
    data = _opened(data_spec)
    own = (own_space(*pair) for pair in zip((spec.observation_space, spec.action_space), spec.starts, strict=True))
    if faults := problems(data.summary, *own):
        raise JoystickError("; ".join(f"algo_cfg.data: {fault}" for fault in faults))
    if data_spec.rewards and not data.summary.reward_given:
        raise JoystickError(
            "algo_cfg.data: it has no rewards, which this algorithm learns from; BC learns from actions alone"
        )
    chosen, held_out = _chosen(data_spec, data.summary, seed)
    returns = learned_returns(data.summary, chosen) if data_spec.returns else None
    offline = OfflineData(data, spec, chosen, returns)
    if held_out is not None:
        offline.held_out = OfflineData(data, spec, held_out, returns)
    for part in filter(None, (offline, offline.held_out)):
        part.masked &= masked
    return offline


def updates_of(spec: DataSpec, seed: int, epochs: int, size: int) -> int:
    """Returns the number of updates in this many passes over the chosen episodes. size: transitions in a minibatch."""
    summary = _opened(spec).summary
    return math.ceil(epochs * transitions(summary, _chosen(spec, summary, seed)[0]) / size)


def mean_return(spec: DataSpec, seed: int) -> float:
    """Returns the mean return, undiscounted, of the episodes that are learned from."""
    summary = _opened(spec).summary
    return float(learned_returns(summary, _chosen(spec, summary, seed)[0]).mean())


def changes_of(spec: DataSpec) -> list[str]:
    """Returns what was added to the data, left out of them or seen in them, a sentence for each."""
    return _opened(spec).notes


def share(spec: DataSpec, seed: int) -> str:
    """Returns how many of the episodes and transitions are learned from; empty if all are."""
    summary = _opened(spec).summary
    chosen = _chosen(spec, summary, seed)[0]
    if chosen is None or chosen.all():
        return ""
    return tr(
        "learns from {episodes:,} of {of_episodes}, {transitions:,} of {of_transitions}",
        episodes=int(chosen.sum()),
        of_episodes=counted(len(chosen), "episode"),
        transitions=transitions(summary, chosen),
        of_transitions=counted(summary.transitions, "transition"),
    )


def has_masks(spec: DataSpec) -> bool:
    """Returns True if the data have action masks."""
    return bool(_opened(spec).summary.mask)


def _opened(spec: DataSpec) -> Dataset:
    """Returns the data, read once as long as no file changes."""
    with naming_setting(spec.resumed):
        paths = files(spec.paths, spec.start)
        parts = [part for path in paths for part in (minari_sets.contents(path) if path.is_dir() else [path])]
        return _read(tuple(paths), tuple((part, part.stat().st_size, part.stat().st_mtime_ns) for part in parts))


@functools.lru_cache(maxsize=1)
def _read(paths: tuple[Path, ...], stamps: tuple[tuple[Path, int, int], ...]) -> Dataset:
    """Returns the data. stamps: each file, its size and the time of its last change."""
    return Dataset(paths)


def learned_returns(summary: Summary, chosen: np.ndarray | None) -> np.ndarray:
    """Returns the undiscounted return of each chosen episode; None: of all of them."""
    return summary.returns if chosen is None else summary.returns[chosen]


def transitions(summary: Summary, chosen: np.ndarray | None) -> int:
    """Returns the number of transitions of the chosen episodes; None: all of them."""
    return summary.transitions if chosen is None else int(summary.lengths[chosen].sum())


def check_same(then: str, now: str) -> None:
    """Raises JoystickError if the data of a checkpoint, by their SHA-256, are not the data of now."""
    if then != now:
        raise JoystickError(
            "algo_cfg.data: the files have changed since the checkpoint (SHA-256 {then} then, {now} "
            "now); a resume needs the same data",
            then=then[:12],
            now=now[:12],
        )


def _chosen(spec: DataSpec, summary: Summary, seed: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Returns which episodes are learned from, None if all are: the best share, and of these a random share. Then which
    of them are held out, None if none are."""
    if spec.top == spec.fraction == 1.0 and not spec.held_out:
        return None, None
    returns = summary.returns
    best = np.argsort(-returns, kind="stable")[: max(1, round(spec.top * len(returns)))]
    drawn = stream(seed, "data").permutation(best)[: max(1, round(spec.fraction * len(best)))]
    chosen, held_out = np.zeros((2, len(returns)), bool)
    if spec.held_out:
        count = max(1, round(spec.held_out * len(drawn)))
        if count >= len(drawn):
            raise JoystickError(
                "algo_cfg.data_held_out: {share:g} of {episodes} leaves none to learn from",
                share=spec.held_out,
                episodes=counted(len(drawn), "episode"),
            )
        drawn, aside = drawn[count:], drawn[:count]
        held_out[aside] = True
    chosen[drawn] = True
    return chosen, held_out if spec.held_out else None
