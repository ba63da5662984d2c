"""What policies saw and did in episodes of a saved model."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from algos.base import Act, Agent
from envs.base import Array
from framework.loop.evaluator import Evaluator
from framework.policies.agent import MultiPolicyAgent


class Seen(NamedTuple):
    """What a policy saw and did in one step of N rows."""

    obs: Array
    fresh: Array
    """[N] bool, True where the recurrent state is that of the start of an episode."""
    mask: Array | None
    action: Array


class Heard:
    """A policy that notes what it sees and does; has the part of an agent that acting needs."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.steps: list[Seen] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    @property
    def observations(self) -> int:
        """Number of observations so far, over all rows."""
        return sum(len(step.obs) for step in self.steps)

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        act = self.agent.predict_action(obs, state, mask)
        fresh = np.zeros(len(obs), bool)
        if state is not None:
            start = self.agent.initial_state(len(obs))
            fresh = (state == start).reshape(len(obs), -1).all(1)
        self.steps.append(Seen(obs.copy(), fresh, None if mask is None else mask.copy(), act.action.copy()))
        return act


class _Enough(Exception):
    """There are as many observations as asked for."""


def play(agent: Agent, evaluator: Evaluator, observations: int) -> dict[str, list[Seen]]:
    """Returns at least so many observations of each policy, by its name, which is empty for a single agent."""
    several = agent if isinstance(agent, MultiPolicyAgent) else None
    heard = {name: Heard(each) for name, each in _policies(agent)}
    check = evaluator.check

    def enough() -> None:
        check()
        if all(each.observations >= observations for each in heard.values()):
            raise _Enough

    player: Any = several or heard[""]
    evaluator.check = enough
    try:
        if several:
            several.agents.update(heard)  # type: ignore[arg-type]
        evaluator.play(player, 0, steps=observations)
    except _Enough:
        pass
    finally:
        evaluator.check = check
        if several:
            several.agents.update({name: each.agent for name, each in heard.items()})
    return {name: each.steps for name, each in heard.items()}


def _policies(agent: Agent) -> Iterator[tuple[str, Agent]]:
    if isinstance(agent, MultiPolicyAgent):
        yield from agent.agents.items()
    else:
        yield "", agent
