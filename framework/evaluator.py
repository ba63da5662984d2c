"""Plays whole episodes without learning: online evaluation, test, the random policy, and the episodes of a video."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from algos.base import Act, Agent, Progress
from envs.base import Array, VectorEnv
from framework.collector import Collector
from framework.fragment import Episode, Recorder
from framework.output import LOGGER
from framework.seeding import number, stream
from framework.watch import Watch

LONGEST_EPISODE = 30_000
"""Steps after which an evaluation gives an episode up, where neither max_step nor the environment ends it."""
MOST_ROWS = 10
"""Evaluation and test always use the same number of rows: a batch of another size gives other bits."""


class Interrupted(Exception):
    """The run was asked to stop in the middle of an evaluation."""


class Evaluation(NamedTuple):
    """Scores of some episodes, each from its own start."""

    episodes: list[Episode]

    @property
    def returns(self) -> Array:
        return np.array([episode.total for episode in self.episodes])

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        return float(self.returns.std())

    def facts(self) -> dict[str, float]:
        """The numbers of a row in eval.csv."""
        returns = self.returns
        return {
            "mean": self.mean,
            "std": self.std,
            "min": float(returns.min()),
            "max": float(returns.max()),
            "median": float(np.median(returns)),
            "episodes": len(returns),
        }


class Evaluator:
    """Its environment is its own; its episodes are the same ones every time."""

    def __init__(
        self,
        env: VectorEnv,
        seed: int,
        max_step: int,
        check: Callable[[], None] = lambda: None,
        watch: Watch | None = None,
    ) -> None:
        self.env, self.seed, self.check, self.watch = env, seed, check, watch or Watch()
        self.longest = max_step if max_step > 0 else LONGEST_EPISODE

    def play(self, agent: Agent, episodes: int, recorders: Iterable[Recorder] = ()) -> Evaluation:
        """Greedy episodes 0 .. episodes-1."""
        collector = self._collector(agent, recorders)
        evaluation = Evaluation(collector.play(episodes, Progress(), self.check))
        if any(episode.length == LONGEST_EPISODE for episode in evaluation.episodes):
            LOGGER.warning(
                "an evaluation episode was cut off after %d steps; set general_cfg.max_step to cut earlier",
                LONGEST_EPISODE,
            )
        return evaluation

    def play_at_random(self, episodes: int) -> Evaluation:
        """The same episodes as `play`, by a policy that knows nothing."""
        policy: Any = _RandomPolicy(self.env, number(self.seed, "random policy"))
        return self.play(policy, episodes)

    def random_return(self, episodes: int = 20, seconds: float = 3.0) -> float | None:
        """Mean return of a policy that knows nothing; None if no episode ends within the time."""
        policy: Any = _RandomPolicy(self.env, number(self.seed, "random policy"))
        collector, stop = self._collector(policy, ()), time.monotonic() + seconds
        returns: list[float] = []
        while len(returns) < episodes and time.monotonic() < stop:
            returns += [episode.total for episode in collector.step(Progress())[3]]
        return float(np.mean(returns[:episodes])) if returns else None

    def _collector(self, agent: Agent, recorders: Iterable[Recorder]) -> Collector:
        rows = self.env.rows

        def seed_of(row: int, episode: int) -> int:
            return number(self.seed, "evaluation", episode * rows + row)

        return Collector(
            self.env, agent, stream(self.seed, "unused"), seed_of, self.longest,
            recorders=tuple(recorders), explore=False, watch=self.watch,
        )  # fmt: skip


class _RandomPolicy:
    """Draws from the action space; only what a collector asks of an agent."""

    def __init__(self, env: VectorEnv, seed: int) -> None:
        self.rows, self.space = env.rows, env.action_space
        self.space.seed(seed)

    def initial_state(self, rows: int) -> None:
        return None

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        masks: Any = [None] * self.rows if mask is None else mask.astype(np.int8)
        actions = np.stack([self.space.sample(legal) for legal in masks])
        start = getattr(self.space, "start", None)
        return Act(actions if start is None else actions - start)


class Replayed:
    """A policy that repeats recorded actions; only what a collector asks of an agent."""

    def __init__(self, actions: Array) -> None:
        self._actions = iter(actions)

    def initial_state(self, rows: int) -> None:
        return None

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(next(self._actions)[None])


def replay(env: VectorEnv, episode: Episode, actions: Array, watcher: Recorder) -> float:
    """Play an episode again in a one-row environment that draws, for a watcher. Returns its return."""
    policy: Any = Replayed(actions)
    collector = Collector(
        env, policy, stream(0, "unused"), lambda row, number: episode.seed,
        max_step=len(actions), recorders=(watcher,), explore=False,
    )  # fmt: skip
    return collector.play(1, Progress())[0].total
