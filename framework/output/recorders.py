"""Recorders see every step of a collector: they keep actions or whole trajectories."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from envs.base import Array, Step, VectorEnv
from framework.fragment import Episode, Recorder


class Tape(Recorder):
    """Records the actions of each episode, so that it can be replayed for a video."""

    def __init__(self, rows: int) -> None:
        self._running: list[list[Array]] = [[] for _ in range(rows)]
        self.episodes: dict[tuple[int, int], Array] = {}

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        for row, actions in enumerate(self._running):
            actions.append(action[row].copy())

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        self.episodes[episode.row, episode.number] = np.array(self._running[episode.row])
        self.drop(episode.row)
        return {}

    def drop(self, row: int) -> None:
        self._running[row] = []


class Writer(Protocol):
    """Receives whole trajectories."""

    def add(self, episode: Mapping[str, Any]) -> None: ...


class TrajectoryRecorder(Recorder):
    """Collects the steps of every row and passes each episode to the writer when it ends."""

    def __init__(self, writer: Writer, rows: int) -> None:
        self.writer = writer
        self._running: list[list[tuple[Any, ...]]] = [[] for _ in range(rows)]

    def step(self, obs: Array, action: Array, step: Step, env: VectorEnv) -> None:
        for row, steps in enumerate(self._running):
            if env.valid is not None and not env.valid[row]:
                continue
            flags = bool(step.terminated[row]), bool(step.truncated[row])
            # as the environment counts, so that what is stored may be fed back to it; the sums are copies
            before, after = obs[row] + env.observation_start, step.obs[row] + env.observation_start
            steps.append((before, action[row] + env.action_start, step.reward[row], after, *flags, dict(env.info(row))))

    def end(self, episode: Episode, env: VectorEnv) -> dict[str, float]:
        names = ("state", "action", "reward", "next_state", "terminated", "truncated")
        *columns, infos = zip(*self._running[episode.row], strict=True)
        arrays: dict[str, Any] = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
        self.writer.add({**arrays, "info": list(infos)})
        self.drop(episode.row)
        return {}

    def drop(self, row: int) -> None:
        self._running[row] = []
