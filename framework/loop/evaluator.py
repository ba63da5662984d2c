"""Plays whole episodes without learning: online evaluation, test, the random policy, and the episodes of a video."""

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from algos.base import Act, Actor, Progress
from config.model.composite import sample
from config.tell.language import tr
from envs.base import Array, VectorEnv
from envs.several.joint import JointActionSpace
from framework.collect.collector import Collector
from framework.collect.env_calls import Watch
from framework.collect.episode_numbers import EpisodeNumbers
from framework.collect.fragment import RETURN, Episode, Recorder
from framework.collect.same_episodes import STEPS, SameEpisodes
from framework.log import LOGGER
from framework.policies.agent import AgainstFixed, MultiPolicyAgent
from framework.policies.returns import AgentReturns
from framework.screen.formatting import counted
from framework.screen.stages import MEASURING, part, stage
from framework.seeding import number, stream

LONGEST_EPISODE = 30_000
"""Steps after which an evaluation truncates an episode, if neither max_step nor the environment ends it."""
MOST_ROWS = 10
"""Most rows of an evaluation. Evaluation and test use the same number: a batch of another size gives other bits."""
RANDOM_EPISODES = 20
"""Number of episodes of the random policy."""
MOST_RANDOM_STEPS = 10_000
"""Steps after which the random policy is given up, so that endless episodes do not hold up the end of a run."""


class _TooLong(Exception):
    """The random policy found no end of its episodes."""


class Evaluation(NamedTuple):
    """Scores of episodes, each with its own seed."""

    episodes: list[Episode]
    score: str | None = None
    """Number of an episode (Episode.metrics) that counts as its return; None: the sum of its rewards."""

    @property
    def returns(self) -> Array:
        if self.score is None:
            return np.array([episode.total for episode in self.episodes])
        returns = [episode.metrics[self.score] for episode in self.episodes if self.score in episode.metrics]
        return np.array(returns or [0.0])  # the policy may control no agent in an episode

    def return_of(self, episode: Episode) -> float:
        """Returns what counts as the return of an episode; the sum of its rewards if the policy of the score does not
        play in it."""
        return episode.total if self.score is None else episode.metrics.get(self.score, episode.total)

    def has_score(self) -> bool:
        """Returns True if an episode has the number that counts as its return."""
        return any(self.score in episode.metrics for episode in self.episodes)

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        return float(self.returns.std())

    def facts(self) -> dict[str, float]:
        """Returns the numbers of a row in eval.csv."""
        returns = self.returns
        return {
            "mean": self.mean,
            "std": self.std,
            "min": float(returns.min()),
            "max": float(returns.max()),
            "median": float(np.median(returns)),
            "episodes": len(returns),
        }

    def endless(self) -> str | None:
        """Returns a sentence if no episode has ended before it was cut off: a greedy policy may go around in circles
        where an exploring one comes to an end."""
        if not self.episodes or not all(episode.cut for episode in self.episodes):
            return None
        steps = self.episodes[0].length
        counts = {"episodes": counted(len(self.episodes), "episode"), "steps": counted(steps, "step")}
        if steps == LONGEST_EPISODE:
            return tr("no episode came to an end: {episodes}, cut off after {steps} each; general_cfg.max_step does so "
                      "earlier", **counts)  # fmt: skip
        return tr("no episode came to an end: general_cfg.max_step cut off {episodes} after {steps}", **counts)

    def metrics(self) -> dict[str, float]:
        """Returns the means of the numbers that callbacks and the environment gave the episodes."""
        names = dict.fromkeys(name for episode in self.episodes for name in episode.metrics)
        columns = {name: [played.metrics[name] for played in self.episodes if name in played.metrics] for name in names}
        return {name: float(np.mean(values)) for name, values in columns.items()}


class Evaluator:
    """Plays the same episodes every time, in an environment of its own."""

    def __init__(
        self,
        env: VectorEnv,
        seed: int,
        max_step: int,
        check: Callable[[], None] = lambda: None,
        watch: Watch | None = None,
        recorders: Iterable[Recorder] = (),
        phase: Callable[[], float | None] = lambda: None,
        score: str | None = None,
        progress: Callable[[], Progress | None] = lambda: None,
    ) -> None:
        """recorders: see every evaluation, but not the random policy. phase: returns the phase of the curriculum.
        score: number of an episode that counts as its return; None: the sum of its rewards. progress: returns how far
        training is, whose exploration is that of the episodes; None: they do not explore."""
        self.score, self.progress = score, progress
        self.env, self.seed, self.check, self.watch = env, seed, check, watch or Watch()
        self.phase = phase
        self.recorders = tuple(recorders)
        self.longest = max_step if max_step > 0 else LONGEST_EPISODE
        self.latest: Evaluation | None = None
        """Result of the last call of `play`; None before the first."""
        self._warnings: set[str] = set()
        """Messages that were logged, once each."""

    def play(
        self,
        agent: Actor,
        episodes: int,
        recorders: Iterable[Recorder] = (),
        steps: int = 0,
        name: str = tr("playing episodes"),
        progress: Progress | None = None,
    ) -> Evaluation:
        """Plays episodes 0, 1, 2 ..., until there are as many episodes and steps as asked for. name: of what is done,
        for a person who waits and for the log. progress: how far training was, if it has gone on since."""
        explore = progress or self.progress()
        self.latest = self._play(agent, episodes, (*self.recorders, *recorders), name, steps, explore)
        return self.latest

    def _play(
        self,
        agent: Actor,
        episodes: int,
        recorders: Iterable[Recorder],
        name: str,
        steps: int = 0,
        explore: Progress | None = None,
        logged: bool = True,
    ) -> Evaluation:
        collector: Collector | None = None

        def how_far() -> str:
            if collector is None:
                return ""
            taken = counted(collector.steps * self.env.rows, "step")
            return tr(", ").join([part(collector.finished, episodes, tr("episodes")), taken])

        with stage(name, how_far, logged=logged):
            collector = self._collector(agent, recorders, explore is not None)
            progress = (explore or Progress())._replace(phase=collector.phase or 0, evaluating=True)
            evaluation = Evaluation(collector.play(episodes, progress, self.check, steps), self.score)
        if any(episode.length == LONGEST_EPISODE for episode in evaluation.episodes):
            cut = tr("an evaluation episode was cut off after %d steps; set general_cfg.max_step to cut earlier")
            self._warn_once(cut, LONGEST_EPISODE)
        if self.score is not None and not evaluation.has_score():
            absent = tr("no agent of policy %s played in the episodes of an evaluation: its score, 0, says nothing")
            self._warn_once(absent, self.score.removeprefix(RETURN))
        return evaluation

    def _warn_once(self, message: str, value: object) -> None:
        if message not in self._warnings:
            self._warnings.add(message)
            LOGGER.warning(message, value)

    def play_at_random(self, episodes: int, logged: bool = True, agent: Actor | None = None) -> Evaluation:
        """Plays the same episodes as `play`, with a uniformly random policy. logged: True to write to the log that it
        is measured. agent: whose policies that do not learn play as they always do; None: all agents are random."""
        policy: Actor = _RandomPolicy(self.env, number(self.seed, "random policy"))
        if isinstance(agent, MultiPolicyAgent) and agent.fixed:
            policy = AgainstFixed(agent, policy)
        kinds = AgentReturns | EpisodeNumbers | SameEpisodes
        numbering = [recorder for recorder in self.recorders if isinstance(recorder, kinds)]
        return self._play(policy, episodes, numbering, tr(MEASURING), logged=logged)

    def random_return(self, episodes: int = RANDOM_EPISODES, agent: Actor | None = None) -> float | None:
        """Returns the mean return of a random policy; None if its episodes do not end within MOST_RANDOM_STEPS. Then
        repeats its first steps, for those who compare what equal actions lead to. agent: see play_at_random."""
        left, check = MOST_RANDOM_STEPS, self.check

        def count() -> None:
            nonlocal left
            check()
            left -= 1
            if left < 0:
                raise _TooLong

        self.check = count
        try:
            mean = self.play_at_random(episodes, agent=agent).mean
            left = STEPS
            with contextlib.suppress(_TooLong):
                self.play_at_random(1, logged=False, agent=agent)
            return mean
        except _TooLong:
            return None
        finally:
            self.check = check

    def _collector(self, agent: Actor, recorders: Iterable[Recorder], explore: bool) -> Collector:
        rows = self.env.rows

        def seed_of(row: int, episode: int) -> int:
            return number(self.seed, "evaluation", episode * rows + row)

        return Collector(
            self.env, agent, stream(self.seed, "evaluation actions"), seed_of, self.longest,
            recorders=tuple(recorders), explore=explore, watch=self.watch, phase=self.phase(),
        )  # fmt: skip


class _RandomPolicy(Actor):
    """Draws from the action space, whose generator gives the same actions every time."""

    def __init__(self, env: VectorEnv, seed: int) -> None:
        self.rows, self.space = env.rows, env.action_space
        self.space.seed(seed)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        if isinstance(self.space, JointActionSpace):
            return Act(np.stack([self.space.sample(seen) for seen in obs]))  # which holds the masks of all agents
        legal: Any = [None] * self.rows if mask is None else mask.astype(np.int8)
        actions = np.stack([sample(self.space, of_row) for of_row in legal])
        start = getattr(self.space, "start", None)
        return Act(actions if start is None else actions - start)


class Replayed(Actor):
    """Repeats recorded actions."""

    def __init__(self, actions: Array) -> None:
        self._actions = iter(actions)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(next(self._actions)[None])


class Repetition:
    """An episode that is repeated in a one-row environment that draws, step by step."""

    def __init__(
        self,
        env: VectorEnv,
        episode: Episode,
        actions: Array,
        recorders: Iterable[Recorder],
        watch: Watch | None = None,
    ) -> None:
        self.episode: Episode | None = None
        """The episode as it went this time, once it is over."""
        self._collector = Collector(
            env, Replayed(actions), stream(0, "unused"), lambda row, number: episode.seed, max_step=len(actions),
            recorders=tuple(recorders), explore=False, watch=watch or Watch(), phase=episode.phase,
        )  # fmt: skip

    def step(self) -> None:
        """Makes the next step, unless the episode is over."""
        if self.episode is None:
            self.episode = next(iter(self._collector.step(Progress())[3]), None)


def replay(
    env: VectorEnv,
    episode: Episode,
    actions: Array,
    *recorders: Recorder,
    check: Callable[[], None] = lambda: None,
    watch: Watch | None = None,
) -> Episode:
    """Repeats an episode in a one-row environment that draws, and returns it. `check` may raise before a step."""
    repetition = Repetition(env, episode, actions, recorders, watch)
    while repetition.episode is None:
        check()
        repetition.step()
    return repetition.episode
