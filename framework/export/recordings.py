"""Records of observations and actions of policies in episodes of a saved model."""

from typing import NamedTuple

import numpy as np

from algos.base import Act, Actor, Agent, TrainableActor
from envs.base import Array
from framework.loop.evaluator import Evaluator
from framework.policies.agent import MultiPolicyAgent


class Seen(NamedTuple):
    """Observations and actions of a policy in one step of N rows."""

    obs: Array
    fresh: Array
    """[N] bool, True where the recurrent state is that of the start of an episode."""
    idle: Array
    """[N] bool, True where the step before has left the recurrent state as it was: its agent did not act."""
    mask: Array | None
    action: Array


class Heard(Actor):
    """A policy that notes what it sees and does."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.steps: list[Seen] = []
        self._before: tuple[Array, Array | None] | None = None
        """Recurrent states before and after the latest step."""

    @property
    def observations(self) -> int:
        """Number of observations so far, over all rows."""
        return sum(len(step.obs) for step in self.steps)

    def initial_state(self, rows: int) -> Array | None:
        return self.agent.initial_state(rows)

    def rewarded(self, state: Array, reward: Array) -> Array:
        return self.agent.rewarded(state, reward)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        act = self.agent.predict_action(obs, state, mask)
        fresh = idle = np.zeros(len(obs), bool)
        if state is not None:
            fresh = _equal(state, self.agent.initial_state(len(obs)))
            if self._before is not None:
                idle = _equal(state, self._before[0]) & ~_equal(state, self._before[1])
            self._before = state.copy(), act.state
        self.steps.append(Seen(obs.copy(), fresh, idle, None if mask is None else mask.copy(), act.action.copy()))
        return act


def _equal(state: Array, other: Array | None) -> Array:
    """Returns [N], True where recurrent states are equal."""
    return np.asarray((state == other).reshape(len(state), -1).all(1))


class _Enough(Exception):
    """There are as many observations as asked for."""


def play(agent: TrainableActor, evaluator: Evaluator, observations: int) -> dict[str, list[Seen]]:
    """Returns at least this many observations of each policy, by its name, which is empty for a single agent."""
    several = agent if isinstance(agent, MultiPolicyAgent) else None
    heard = {name: Heard(actor) for name, actor in agent.by_policy().items()}
    check = evaluator.check

    def enough() -> None:
        check()
        if all(actor.observations >= observations for actor in heard.values()):
            raise _Enough

    player: Actor = several or heard[""]
    evaluator.check = enough
    try:
        if several:
            several.actors.update(heard)
        evaluator.play(player, 0, steps=observations)
    except _Enough:
        pass
    finally:
        evaluator.check = check
        if several:
            several.actors.update(several.agents)
    return {name: actor.steps for name, actor in heard.items()}
