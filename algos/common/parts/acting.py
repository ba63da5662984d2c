"""Acting, for agents to inherit: one function chooses the actions of a step, by values of actions, a policy or a table.
An agent may also define the functions of algos.base.Actor itself."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from algos import base
from algos.base import Act, Array, Batch, Explore, PolicyModule, Progress
from algos.common.maths.exploration import Explorer, epsilon_greedy, greedy
from algos.common.parts.unroll import Carried


class ActingAgent(base.Agent):
    """An agent whose actions of every kind come from one function."""

    @abstractmethod
    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns exploratory actions; for None the best known ones, without randomness. mask [N, A] is True for legal
        actions; None if all are legal."""

    def initial_state(self, rows: int) -> Array | None:
        return None if self.carried is None else self.carried.initial(rows)

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return self.act(obs, state, mask, Explore(progress, rng))

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return self.act(obs, state, mask)


class ValueAgent(ActingAgent):
    """An agent that chooses among actions by their values."""

    explorer: Explorer
    eval_epsilon: float | None = None
    """Share of random actions in evaluations; None: its generator is not used."""

    def values(
        self, obs: Array, state: Array | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Array, Array | None]:
        """Returns Q(s, .) [N, A], and the recurrent state after this step. rng: of noise in the network; None for no
        noise."""
        return self.carried.act(obs, state)

    def exploration(self, progress: Progress) -> dict[str, float]:
        return self.explorer.strength(progress)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        if explore is None:
            values, after = self.values(obs, state)
            return Act(greedy(values, mask), state=after)
        values, after = self.values(obs, state, explore.rng)
        return Act(self.explorer.choose(values, *explore, mask), state=after)

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        if self.eval_epsilon is None:
            return self.act(obs, state, mask)
        values, after = self.values(obs, state)
        return Act(epsilon_greedy(values, self.eval_epsilon, rng, mask), state=after)


class Policy(ABC):
    """A part of an agent that acts for it."""

    carried: Carried
    """Recurrent states of its networks, and of those beside it."""

    @abstractmethod
    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns what ActingAgent.act does."""

    @abstractmethod
    def as_module(self) -> PolicyModule:
        """Returns the best known actions as a module."""

    def initial_state(self, rows: int) -> Array | None:
        """Returns the recurrent state [N, S] at the start of an episode; None for feed-forward networks."""
        return self.carried.initial(rows)

    def noted(self, obs: Array, action: Array, mask: Array | None) -> dict[str, Array]:
        """Returns the columns that exploring gives with these actions [N, ...]."""
        return {}


Part = TypeVar("Part", bound=Policy)


class PolicyAgent(ActingAgent, Generic[Part]):
    """An agent that acts by a policy."""

    policy: Part

    def initial_state(self, rows: int) -> Array | None:
        return self.policy.initial_state(rows)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        return self.policy.act(obs, state, mask, explore)

    def noted(self, obs: Array, action: Array, mask: Array | None = None) -> dict[str, Array]:
        return self.policy.noted(obs, action, mask)

    def as_module(self) -> PolicyModule:
        return self.policy.as_module()

    def single_steps(self, batch: Batch) -> Batch:
        return self.policy.carried.with_views(batch, self.burn_in)
