"""Recorders see every step of a collector: they keep actions or whole trajectories."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from envs.base import Array, Step, VectorEnv
from framework.collect.fragment import Episode, Fragment, Record, Recorder
from framework.dataset.columns import MASKS
from framework.dataset.store import StepStore
from framework.dataset.trajectories import plain

TAPES = "tapes"
TRAJECTORIES = "trajectories"


class Tape(Recorder):
    """Records the actions of each episode, so that it can be replayed for a video. In training, they travel with the
    fragment that the episode ended in."""

    def __init__(self, rows: int) -> None:
        self._running: list[list[Array]] = [[] for _ in range(rows)]
        self.episodes: dict[tuple[int, int], Array] = {}
        """Actions [T, ...] of each finished episode, by its row and its number in the row."""

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        for row, actions in enumerate(self._running):
            if env.valid is None or env.valid[row]:
                actions.append(action[row].copy())

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        self.episodes[episode.row, episode.number] = np.array(self._running[episode.row])
        self.drop(episode.row)
        return {}

    def drop(self, row: int) -> None:
        self._running[row] = []

    def collected(self, fragment: Fragment, env: VectorEnv) -> Iterable[Record]:
        finished, self.episodes = self.episodes, {}
        return [Record(TAPES, ((fragment.origin.worker, *key), actions)) for key, actions in finished.items()]


class FirstEpisodes(Recorder):
    """Passes on the episodes that count in an evaluation; rows that end early play others beside them."""

    def __init__(self, inner: Recorder, most: int, rows: int) -> None:
        """most: number of episodes that count, numbered across the rows."""
        self.inner, self.most, self.rows = inner, most, rows

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        self.inner.begin(row, seed, obs, env)

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        self.inner.step(obs, action, step, env)

    def end(self, episode: Episode, env: VectorEnv) -> Mapping[str, float]:
        if episode.number * self.rows + episode.row < self.most:
            return self.inner.end(episode, env)
        self.inner.drop(episode.row)
        return {}

    def drop(self, row: int) -> None:
        self.inner.drop(row)


class Trajectories:
    """Passes trajectories to a writer; without one, they travel with the fragment that their episode ended in."""

    def __init__(self, writer: StepStore | None) -> None:
        self.writer = writer
        self._finished: list[dict[str, Any]] = []

    def add(self, steps: Sequence[tuple[Any, ...]]) -> None:
        """Passes on a trajectory: its steps, each with state, action, reward, next state, flags, info and, if there are
        any, the action masks of both states."""
        names = ("state", "action", "reward", "next_state", "terminated", "truncated", "info", *MASKS)
        whole: dict[str, Any] = dict(zip(names, zip(*steps, strict=True), strict=False))
        infos = whole.pop("info")
        whole = {name: np.array(column) for name, column in whole.items()}
        whole["info"] = [plain(info) for info in infos]
        if self.writer is None:
            self._finished.append(whole)
        else:
            self.writer.add(whole)

    def records(self) -> list[Record]:
        """Returns the trajectories since the last call."""
        finished, self._finished = self._finished, []
        return [Record(TRAJECTORIES, trajectory) for trajectory in finished]


class TrajectoryRecorder(Recorder):
    """Collects the steps of every row. Passes each episode on when it ends."""

    def __init__(self, writer: StepStore | None, rows: int) -> None:
        self._out = Trajectories(writer)
        self._running: list[list[tuple[Any, ...]]] = [[] for _ in range(rows)]
        self._mask: Array | None = None
        """Masks [N, A] of the current observations, if the environment has any."""

    def begin(self, row: int, seed: int, obs: Array, env: VectorEnv) -> None:
        self._mask = env.action_mask

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        mask, self._mask = self._mask, env.action_mask
        for row, steps in enumerate(self._running):
            if env.valid is not None and not env.valid[row]:
                continue
            flags = bool(step.terminated[row]), bool(step.truncated[row])
            # as the environment counts, so that what is stored may be fed back to it; the sums are copies
            before, after = obs[row] + env.observation_start, step.obs[row] + env.observation_start
            values = before, action[row] + env.action_start, step.reward[row], after, *flags, dict(env.info(row))
            masks = () if mask is None or self._mask is None else (mask[row], self._mask[row])
            steps.append((*values, *masks))

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        self._out.add(self._running[episode.row])
        self.drop(episode.row)
        return {}

    def drop(self, row: int) -> None:
        self._running[row] = []

    def collected(self, fragment: Fragment, env: VectorEnv) -> Iterable[Record]:
        return self._out.records()
