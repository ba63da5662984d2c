"""Samples of whole episodes for a program's own loop: run.sample collects them, run.update learns from them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from algos.base import EnvSpec, Progress, TrainableActor
from config.model.memory_spec import RolloutSpec
from config.read.loader import RunConfig
from envs.base import VectorEnv
from framework.collect.collector import Collector
from framework.collect.fragment import Accepted, Columns, Episode
from framework.data.batch import Batch
from framework.errors import JoystickError
from framework.memory.chunk import Chunk
from framework.policies.rollout import SlotRollout
from framework.policies.splitter import Transitions
from framework.seeding import number, stream

COUNTED = ("row", "seed", "env_reward")
"""Columns of a window that its episodes are counted by, and that are not learned from."""


class Sampler:
    """Plays whole episodes with exploration in an environment of its own."""

    def __init__(
        self, config: RunConfig, env: VectorEnv, agent: TrainableActor, phase: Callable[[], float | None]
    ) -> None:
        """phase: returns that of the curriculum; None without one."""
        self.config, self.env, self.agent, self.phase = config, env, agent, phase
        self._last = (-1, 0)
        """Environment step of the run at the latest sample, and number of samples at that step."""

    def sample(self, steps: int, progress: Progress) -> Batch:
        """Returns at least `steps` steps, of whole episodes. Each row plays episodes until there are enough; then those
        that have begun are played to their end, so that short ones are not preferred. The seeds of the episodes follow
        from the step of the run and the number of samples at it. `window` has the columns that are learned from."""
        self._last = (progress.step, self._last[1] + 1 if self._last[0] == progress.step else 0)
        place, seed, rows = self._last, self.config.general.seed, self.env.rows

        def seed_of(row: int, episode: int) -> int:
            return number(seed, "sample", *place, row, episode)

        rng = stream(seed, "sample actions", *place)
        phase = self.phase()
        collector = Collector(self.env, self.agent, rng, seed_of, self.config.general.max_step, phase=phase)
        parts: list[Columns] = []
        row_of: list[np.ndarray] = []
        seeds: list[np.ndarray] = []
        active, count = np.ones(rows, bool), 0
        while active.any():
            playing = np.array([seed_of(row, int(k)) for row, k in enumerate(collector.running())], np.int64)
            fragment, episodes = collector.collect(1, progress)
            valid = active & fragment.columns.get("valid", np.ones((1, rows), bool))[0]
            parts.append({name: value[0, valid] for name, value in fragment.columns.items() if name != "valid"})
            row_of.append(np.flatnonzero(valid))
            seeds.append(playing[valid])
            count += int(valid.sum())
            if count >= steps:
                active[[episode.row for episode in episodes]] = False
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        # the program may change what is learned from, and returns are those of the environment's own rewards
        counted = (np.concatenate(row_of), np.concatenate(seeds), columns["reward"])
        window = {**columns, **dict(zip(COUNTED, counted, strict=True))}
        order = np.argsort(window["row"], kind="stable")
        window = {name: value[order] for name, value in window.items()}
        sample = Batch(
            state=window["obs"],
            action=window["action"],
            reward=window["reward"],
            mask=(~window["terminated"]).astype(np.float32),
            next_state=window["next_obs"],
            window=Batch(window),
        )
        if phase is not None:
            sample.phase = phase
        return sample


def chunks(spec: RolloutSpec, sample: Any, facts: EnvSpec, fraction: float) -> Iterator[Chunk]:
    """Returns the windows of a sample. facts: about the environment. Raises JoystickError for something else."""
    if spec.data is not None:
        raise JoystickError("update learns from its sample alone, and this one from algo_cfg.data too: use train()")
    if not isinstance(sample, Batch) or "window" not in sample:
        raise JoystickError(
            "update takes what run.sample(steps) has returned, not a {kind}", kind=type(sample).__name__
        )
    columns = {name: np.asarray(value) for name, value in sample.window.items()}
    _check(columns, facts)
    learned = {name: column for name, column in columns.items() if name not in COUNTED}
    window = SlotRollout(spec, facts.rows)
    window.add(Transitions(learned, columns["row"], np.zeros(0, np.int64)), fraction)
    return window.drain()


def _check(columns: Columns, facts: EnvSpec) -> None:
    """Raises JoystickError for columns of a window that are not those of steps in this environment."""
    observation, action = facts.observation_space.shape or (), facts.action_space.shape or ()
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("reward", "terminated", "truncated", *COUNTED), ()),
        **dict.fromkeys(("obs", "next_obs"), observation),
        "action": action,
    }
    if missing := [name for name in shapes if name not in columns]:
        raise JoystickError("update: the window has no column {name!r}", name=missing[0])
    steps = len(columns["obs"]) if columns["obs"].ndim else 0
    for name, column in columns.items():
        expected = (steps, *shapes.get(name, column.shape[1:]))
        if column.shape != expected or column.dtype.kind not in "biuf":
            raise JoystickError(
                "update: the column {name!r} of the window has shape {shape} and type {dtype}; expected numbers "
                "{expected}",
                name=name,
                shape=column.shape,
                dtype=column.dtype,
                expected=expected,
            )
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise JoystickError("update: the column {name!r} of the window has a value that is not finite", name=name)
    if not ((columns["row"] >= 0) & (columns["row"] < facts.rows)).all():
        raise JoystickError("update: window.row has a row that is none of {count}", count=facts.rows)


def accepted(sample: Batch, progress: Progress) -> Accepted:
    """Returns the event that counts the steps and episodes of a sample."""
    window = sample.window
    ends = np.flatnonzero(window.terminated | window.truncated)
    episodes, first = [], 0
    for place, end in enumerate(ends.tolist()):
        total, length = float(window.env_reward[first : end + 1].sum(dtype=np.float64)), end + 1 - first
        row, seed = int(window.row[end]), int(window.seed[end])
        terminated = bool(window.terminated[end])
        episodes.append(
            Episode(0, row, place, seed, total, length, terminated, steps=end + 1, phase=sample.get("phase"))
        )
        first = end + 1
    return Accepted(len(window.reward), 1, 0, episodes, progress)
