"""Ramps, fakes and small makers for the tests of framework and algos."""

import functools
import json
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

import algos
from algos.base import Act, Agent, Batch, EnvSpec, Model, Progress, Result, Streams
from config.model.memory_spec import ReplaySpec
from envs import toy
from envs.base import Goal, Step, VectorEnv
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from envs.toy import env as toy_env
from framework import memory
from framework.collect.fragment import Fragment, Origin, Recorder
from framework.collect.training import TrainingCollector
from framework.disk.checkpoints import flatten, unflatten
from framework.disk.journal import Frame, Position, Span
from framework.loop.evaluator import Evaluator
from framework.loop.learner import AgentLearner
from framework.memory import Replay
from framework.seeding import stream
from tests.tools.short_runs import short

torch.set_num_threads(1)


def saved_and_read(tree: Any) -> Any:
    """The tree as a checkpoint gives it back."""
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(flatten(tree, arrays))
    return unflatten(json.loads(text), arrays)


# ------------------------------------------------------------------------------------------------------- ramps

Ends = dict[tuple[int, int], str]
"""(step, row) -> which flag is set there: terminated, truncated or dummy."""


def ramp(
    first: int, steps: int, rows: int = 1, ends: Ends | None = None, fresh: bool = False, worker: int = 0
) -> Fragment:
    """Steps first .. first + steps - 1. The observation is 1000 row + step, its successor that and a half, and the
    reward is 1 + the step: every number says where it comes from. fresh: all rows begin an episode."""
    ends = ends or {}
    t, row = np.meshgrid(np.arange(first, first + steps), np.arange(rows), indexing="ij")
    obs = (1000 * row + t).astype(np.float32)

    def flag(name: str) -> np.ndarray:
        flags = np.zeros((steps, rows), bool)
        for (step, i), kind in ends.items():
            if kind == name and i < rows and first <= step < first + steps:
                flags[step - first, i] = True
        return flags

    columns = {
        "obs": obs[..., None],
        "action": t % 3,
        "reward": (1 + t).astype(np.float32),
        "next_obs": obs[..., None] + np.float32(0.5),
        "terminated": flag("terminated"),
        "truncated": flag("truncated"),
    }
    if "dummy" in ends.values():
        columns["valid"] = ~flag("dummy")
    return Fragment(columns, {"first": np.full(rows, fresh)}, Origin(worker=worker, first_step=first))


def replay(capacity: int = 8, batch: int = 4, seed: int = 0, **settings: Any) -> Replay:
    """A replay memory that owes one update for each transition, and discounts by a half."""
    settings = {"warmup": 1, "updates_per_step": 1.0, "gamma": 0.5, **settings}
    return Replay(ReplaySpec(capacity=capacity, batch_size=batch, **settings), np.random.default_rng(seed))


class FakeJournal:
    """A journal that keeps copies of its frames: the n-th begins at Position(0, n)."""

    def __init__(self) -> None:
        self.frames: list[dict[str, np.ndarray]] = []

    @property
    def end(self) -> Position:
        return Position(0, len(self.frames))

    def append(self, arrays: dict[str, np.ndarray]) -> Position:
        self.frames.append({name: value.copy() for name, value in arrays.items()})
        return Position(0, len(self.frames) - 1)

    def read(self, span: Span) -> list[Frame]:
        """The frames of a span."""
        numbers = range(span.start.offset, span.end.offset)
        return [Frame(self.frames[n], Position(0, n), Position(0, n + 1)) for n in numbers]


def written(memory: Replay) -> list[Frame]:
    """Everything that a new journal gets of this memory: one that it has not written to."""
    journal = FakeJournal()
    journal.frames += [{}] * 1000  # no memory left its journal here
    return journal.read(memory.write(journal))


# ------------------------------------------------------------------------------------------------------- fakes


class CountingEnv(VectorEnv):
    """Observations count the steps of the episode: 10 seed + step. Row i ends after ends[i][0] steps, in the way
    that ends[i][1] says; every call is written on a tape."""

    observation_space = Box(-np.inf, np.inf, (1,))
    action_space = Discrete(4)

    def __init__(self, *ends: tuple[int, str], tape: list[tuple] | None = None) -> None:
        self.rows, self.ends = len(ends), ends
        self.tape = [] if tape is None else tape
        self._seed, self._step = np.zeros((2, self.rows), np.int64)
        self._ended = np.ones(self.rows, bool)
        self._out = np.zeros((self.rows, 1), np.float32)

    def reset(self, mask, seeds):
        self.tape.append(("reset", mask.tolist(), np.asarray(seeds)[mask].tolist()))
        self._seed[mask], self._step[mask], self._ended[mask] = np.asarray(seeds)[mask], 0, False
        return self._obs()

    def step(self, action):
        assert not self._ended.any(), "stepped after the end of an episode"
        self.tape.append(("step", np.asarray(action).tolist()))
        self._step += 1
        over = [self._step[i] == length for i, (length, _) in enumerate(self.ends)]
        terminated, truncated = (
            np.array([end and kind in (name, "both") for end, (_, kind) in zip(over, self.ends, strict=True)], bool)
            for name in ("terminated", "truncated")
        )
        self._ended = terminated | truncated
        self._out[:] = self._obs()  # one array for all steps, as the contract allows
        return Step(self._out, self._step.astype(np.float32), terminated, truncated)

    def _obs(self):
        return (10 * self._seed + self._step).astype(np.float32)[:, None]


class TapeAgent:
    """What a collector asks of an agent: explores with the collector's stream, and takes action 3 in evaluations."""

    def __init__(self, tape: list[tuple] | None = None) -> None:
        self.tape = [] if tape is None else tape

    def initial_state(self, rows):
        return None

    def sample_action(self, obs, state, progress, rng, mask=None):
        self.tape.append(("sample", obs[:, 0].tolist(), progress.step))
        action = rng.integers(0, 2, len(obs))
        return Act(action, {"log_prob": -action.astype(np.float32)})

    def evaluate_action(self, obs, state, rng, mask=None):
        self.tape.append(("predict", obs[:, 0].tolist()))
        return Act(np.full(len(obs), 3))


class PolicyOfNothing:
    """Draws actions from the collector's stream for any action space with so many actions."""

    def __init__(self, actions: int = 2) -> None:
        self.actions = actions

    def initial_state(self, rows):
        return None

    def rewarded(self, state, reward):
        return state

    def sample_action(self, obs, state, progress, rng, mask=None):
        return Act(rng.integers(0, self.actions, len(obs)))

    def evaluate_action(self, obs, state, rng, mask=None):
        return Act(np.zeros(len(obs), np.int64))


def collector_of(env: VectorEnv, agent: Any = None, seed: int = 1, **settings: Any) -> TrainingCollector:
    """A collector whose episode number e of row i has the seed 100 i + e + 1."""
    settings = {"episode_seed": lambda row, number: 100 * row + number + 1, **settings}
    return TrainingCollector(env, agent or TapeAgent(), stream(seed, "act", 0), **settings)


# ------------------------------------------------------------------------------------------------------ agents


@functools.cache
def of_one_agent() -> list[str]:
    """Algorithms that learn with a single agent: all but those that need the global state of several."""
    configs = {name: algos.get(name).Config for name in algos.learning()}
    return [name for name, config in configs.items() if config.JOINT or not config().needs_global_state()]


def toy_of(name: str, rows: int = 1, **settings: Any) -> VectorEnv:
    return toy_env.make(toy.Config(id=name, **settings), rows)


def spec_of(env: VectorEnv) -> EnvSpec:
    model = Model(*env.model) if env.model else None
    return EnvSpec("toy", env.observation_space, env.action_space, env.rows, model=model, expert=env.expert)


def agent_of(algo: str, spec: EnvSpec, seed: int = 1, device: str = "cpu", **settings: Any) -> Agent:
    """An algorithm's agent with the settings of a short run, and these in their place."""
    package = algos.get(algo)
    streams = Streams(init=seed, learn=stream(seed, "learn"))
    cfg = package.Config(**short(algo, **settings))
    agent: Agent = algos.agent_class(package)(cfg, spec, streams, torch.device(device))
    agent.expert = spec.expert if package.Config.EXPERT_ACTS else None
    return agent


def updated(agent: Agent, batch: Batch) -> Result:
    """An update from a minibatch as a Learner makes it."""
    agent.seed_dropout()
    return agent.update(batch if agent.CUTS_MINIBATCHES else agent.share(batch))


def prepared_by(agent: Agent, window: Batch, progress: Progress) -> Batch:
    """A chunk that a Learner has prepared, with the learning rates of this progress."""
    for group, rate in agent.rates(progress):
        group["lr"] = rate
    return agent.prepare(window, progress)


def memory_of(agent: Agent, seed: int = 1, goal: Goal | None = None) -> memory.Memory:
    return memory.make(agent.cfg.memory(agent.spec.rows), stream(seed, "memory"), goal)


def trained(agent: Agent, env: VectorEnv, rounds: int) -> Agent:
    """The loop of training without anything around it."""
    collector, kept = collector_of(env, agent), memory_of(agent, goal=env.goal)
    learner = AgentLearner(agent, agent.cfg.memory(env.rows))
    for _ in range(rounds):
        progress = Progress(collector.steps * env.rows, fraction=0.0)
        kept.add(collector.collect(learner.spec.fragment, progress)[0])
        while (chunk := kept.take(0.0)) is not None:
            learned = learner.learn(chunk, progress)
            if learned.priorities is not None:
                kept.feedback(chunk.keys, learned.priorities)
        collector.settle()
    return agent


def score(agent: Agent, env: VectorEnv, episodes: int = 20) -> float:
    """Mean return of greedy episodes."""
    return Evaluator(env, 7, -1).play(agent, episodes).mean


def copied(fragment):
    return {name: value.copy() for name, value in fragment.columns.items()}


def cartpole(kind, rows=3):
    return lambda: gym_env.make(Gym(vectorization=kind, max_episode_steps=15), rows)


class StepRecorder(Recorder):
    """Keeps the running steps of each row, as trajectories do."""

    def __init__(self):
        self.running, self.ended, self.dropped = {}, [], []

    def step(self, obs, action, step, env):
        for row in range(env.rows):
            self.running.setdefault(row, []).append((obs[row].tolist(), step.reward[row].item()))

    def end(self, episode, env):
        self.ended.append((episode.row, self.running.pop(episode.row)))
        return {}

    def drop(self, row):
        self.dropped.append(row)
        self.running.pop(row, None)
