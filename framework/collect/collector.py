"""Steps environments: for training, evaluation, test, films and trajectories alike."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from algos.base import Act, Actor, Progress
from config.model.fields import whole
from envs.base import Array, Step, VectorEnv
from framework.collect.env_calls import Watch
from framework.collect.fragment import Columns, Episode, Fragment, Origin, Record, Recorder
from framework.errors import NumericsError
from framework.log import first_shapes

LONGEST_REPLAY = 100_000
"""Number of steps after which an episode is too long to be replayed: a resume begins a new one in that row, and says
so. Bounds the tape, the size of a checkpoint and the time of a resume where episodes never end."""


@dataclass
class RunningEpisodes:
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

    def copy(self) -> "RunningEpisodes":
        return RunningEpisodes(
            self.obs.copy(),
            self.episode.copy(),
            self.seed.copy(),
            self.length.copy(),
            self.total.copy(),
            self.born.copy(),
            self.phase.copy(),
            self.state,
        )


class Mark(NamedTuple):
    """State of a collector at the end of a round."""

    running: RunningEpisodes
    end: int
    """Index on the tape of the next action."""
    rng: Mapping[str, Any]
    """State of the random stream."""
    steps: int

    def first_action(self) -> int:
        """Returns the index on the tape of the first action that a resume replays. Episodes of more than
        LONGEST_REPLAY steps are not replayed."""
        born = self.running.born
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


@dataclass
class Collector:
    """Steps N rows with a policy. Notes what a resume needs: the actions of the running episodes, and the ends of
    rounds."""

    env: VectorEnv
    agent: Actor
    rng: np.random.Generator
    """Random stream of exploration."""
    episode_seed: Callable[[int, int], int]
    """(row, episode number) -> seed."""
    max_step: int = -1
    """Number of steps after which an episode is truncated; -1: never."""
    worker: int = 0
    incarnation: int = 0
    """Number of earlier workers with this number that were lost; the exploration stream depends on it."""
    recorders: Iterable[Recorder] = ()
    explore: bool = True
    steps: int = 0
    """Number of steps made so far."""
    first_episode: Array | None = None
    """Number [N] of the first episode of each row; None: 0."""
    remembered: int = 1
    """Number of complete rounds whose state is still available."""
    watch: Watch = field(default_factory=Watch)
    phase: float | None = None
    """Phase of the curriculum of the first episodes; later ones get that of the progress. None: there are no phases."""
    records: list[Record] = field(default_factory=list)
    """Records of the latest fragment."""
    finished: int = 0
    """Number of the episodes that `play` was asked for and has played to their ends."""
    _tape: Tape = field(default_factory=Tape)
    _buffers: Columns = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = self.env.rows
        zeros = np.zeros(rows, np.int64)
        episode = zeros if self.first_episode is None else self.first_episode.copy()
        seeds = np.array([self.episode_seed(row, number) for row, number in enumerate(episode.tolist())], np.int64)
        phases = np.full(rows, self.phase or 0.0)
        obs = self._reset(np.ones(rows, bool), seeds, phases)
        state = self.agent.initial_state(rows)
        self._now = RunningEpisodes(obs, episode, seeds, zeros.copy(), np.zeros(rows), zeros.copy(), phases, state)
        self._cut = np.zeros(rows, bool)
        """Rows [N] whose episode the last step has cut off."""
        self._marks: deque[Mark] = deque(maxlen=self.remembered)
        self.settle()
        self._begun(np.ones(rows, bool))

    def _begun(self, rows: Array) -> None:
        """Tells the recorders that an episode begins in the masked rows."""
        for recorder in self.recorders:
            for row in np.flatnonzero(rows).tolist():
                recorder.begin(row, int(self._now.seed[row]), self._now.obs, self.env)

    # one step ---------------------------------------------------------------------------------------------

    def step(self, progress: Progress) -> tuple[Array, Act, Step, list[Episode]]:
        """Acts once in every row. Rows whose episode ends start a new one."""
        now = self._now
        obs, state, mask = now.obs, now.state, self.env.action_mask
        if self.explore:
            act = self.agent.sample_action(obs, state, progress, self.rng, mask)
        else:
            act = self.agent.evaluate_action(obs, state, self.rng, mask)
        now.state = act.state
        step = self._advance(act.action)
        if now.state is not None:
            now.state = self.agent.rewarded(now.state, step.reward)
        if self.env.valid is not None:
            self._forget(~self.env.valid)  # a dummy step belongs to no episode
        if state is not None:
            act = act._replace(columns={**act.columns, "state": state})
        if mask is not None and self.env.action_mask is not None:
            masks = {"action_mask": mask, "next_action_mask": self.env.action_mask}
            act = act._replace(columns={**act.columns, **masks})
        ends = step.terminated | step.truncated
        episodes = self._finish(ends, step, progress.phase) if np.count_nonzero(ends) else []
        return obs, act, step, episodes

    def _advance(self, action: Array) -> Step:
        now = self._now
        self._tape.actions.append(action)
        with self.watch("step", action):
            obs, reward, terminated, truncated = self.env.step(action)
        self.steps += 1
        now.length += 1 if self.env.valid is None else self.env.valid
        now.total += reward
        truncated = truncated & ~terminated
        if self.max_step > 0:
            self._cut = (now.length >= self.max_step) & ~(terminated | truncated)
            truncated |= self._cut
        step = Step(obs, reward, terminated, truncated)
        for recorder in self.recorders:
            recorder.step(now.obs, action, step, self.env)
        now.obs = obs.copy()
        return step

    def _finish(self, ends: Array, step: Step, phase: float) -> list[Episode]:
        now, episodes = self._now, []
        for row in np.flatnonzero(ends).tolist():
            episode = Episode(
                worker=self.worker,
                row=row,
                number=int(now.episode[row]),
                seed=int(now.seed[row]),
                total=float(now.total[row]),
                length=int(now.length[row]),
                terminated=bool(step.terminated[row]),
                steps=self.steps,
                phase=None if self.phase is None else whole(float(now.phase[row])),
                cut=bool(self._cut[row]),
            )
            for recorder in self.recorders:
                if metrics := recorder.end(episode, self.env):
                    episode = episode._replace(metrics={**episode.metrics, **metrics})
            episodes.append(episode)
        now.phase[ends] = phase
        self.begin(ends)
        return episodes

    def _reset(self, rows: Array, seeds: Array, phases: Array) -> Array:
        """Starts an episode in the masked rows, each in its phase."""
        if self.phase is not None:
            with self.watch("set_phase"):
                self.env.set_phase(rows, [whole(phase) for phase in phases.tolist()])
        with self.watch("reset"):
            return self.env.reset(rows, seeds)

    def begin(self, rows: Array) -> None:
        """Starts the next episode in the masked rows."""
        now = self._now
        now.episode[rows] += 1
        for row in np.flatnonzero(rows).tolist():
            now.seed[row] = self.episode_seed(row, int(now.episode[row]))
        now.length[rows] = 0
        now.total[rows] = 0.0
        now.born[rows] = self._tape.end
        now.obs = self._reset(rows, now.seed, now.phase)
        self._forget(rows)
        self._begun(rows)

    def _forget(self, rows: Array) -> None:
        """Resets the recurrent state of the masked rows."""
        now = self._now
        if now.state is not None and (fresh := self.agent.initial_state(self.env.rows)) is not None:
            now.state = np.where(rows[:, None], fresh, now.state)

    def running(self) -> Array:
        """Returns the numbers [N] of the running episodes."""
        return self._now.episode.copy()

    # many steps -------------------------------------------------------------------------------------------

    def collect(self, steps: int, progress: Progress) -> tuple[Fragment, list[Episode]]:
        """Collects T steps of all rows, with constant weights and progress."""
        start = {"state": self._now.state, "first": self._now.length == 0}
        origin = Origin(self.worker, self.steps, progress.fraction)
        episodes: list[Episode] = []
        for t in range(steps):
            obs, act, step, results = self.step(progress)
            episodes += results
            if t == 0:
                buffers = self._room(steps, obs, act, step)
            buffers["obs"][t] = obs
            buffers["action"][t] = act.action
            buffers["reward"][t] = step.reward
            buffers["next_obs"][t] = step.obs
            buffers["terminated"][t] = step.terminated
            buffers["truncated"][t] = step.truncated
            for name, value in act.columns.items():
                buffers[name][t] = value
            if self.env.valid is not None:
                buffers["valid"][t] = self.env.valid
        _check_finite(buffers, origin.first_step)
        fragment = Fragment(buffers, start, origin)
        self.records = [record for recorder in self.recorders for record in recorder.collected(fragment, self.env)]
        return fragment, episodes

    def play(
        self, episodes: int, progress: Progress, check: Callable[[], None] = lambda: None, steps: int = 0
    ) -> list[Episode]:
        """Plays episodes 0, 1, 2 ..., numbered across rows (row 0's first, row 1's first, ...), until there are as many
        episodes and steps as asked for. Returns exactly these: the first to finish would be the short ones. `check` is
        called before each step and may raise."""
        done: dict[int, Episode] = {}
        results: list[Episode] = []
        taken = 0
        while len(results) < episodes or taken < steps:
            if len(results) in done:
                results.append(done.pop(len(results)))
                taken += results[-1].length
                continue
            check()
            for episode in self.step(progress)[3]:
                place = episode.number * self.env.rows + episode.row
                done[place] = episode
                self.finished += bool(steps) or place < episodes
        self.settle()
        return results

    def _room(self, steps: int, obs: Array, act: Act, step: Step) -> Columns:
        """Returns arrays [T, N, ...] for a fragment; reuses the arrays of the last round if they fit."""
        if self._buffers and self._buffers["reward"].shape[0] == steps:
            return self._buffers
        samples = {
            "obs": obs,
            "action": act.action,
            "reward": step.reward,
            "next_obs": step.obs,
            "terminated": step.terminated,
            "truncated": step.truncated,
            **act.columns,
        }
        if self.env.valid is not None:
            samples["valid"] = self.env.valid
        first = not self._buffers
        self._buffers = {name: np.empty((steps, *value.shape), value.dtype) for name, value in samples.items()}
        if first:
            first_shapes("fragment", self._buffers)
        return self._buffers

    def unsettled(self) -> int:
        """Returns the number of steps since the last complete round. Another thread may call it."""
        return self.steps - self._marks[-1].steps

    def settle(self) -> None:
        """Marks the end of a round: a resume begins at this moment until the next call, even if a round breaks off."""
        self._marks.append(Mark(self._now.copy(), self._tape.end, self.rng.bit_generator.state, self.steps))
        if self._tape.long:
            self._tape.forget(before=self._marks[0].first_action())


def _check_finite(columns: Columns, first_step: int) -> None:
    """Raises NumericsError for NaN or infinity where it enters, before it spoils the weights."""
    for name in ("reward", "next_obs", "obs"):
        column = columns[name]
        if column.dtype.kind == "f" and np.count_nonzero(np.isfinite(column)) < column.size:  # all() takes longer
            t, row = np.argwhere(~np.isfinite(column))[0][:2].tolist()
            raise NumericsError(
                "the environment gave {name} = {value} in row {row} at step {step}; a reward or observation must be a "
                "finite number of float32, at most 3.4e38",
                name=name,
                value=column[t, row].tolist(),
                row=row,
                step=first_step + t + 1,
            )
