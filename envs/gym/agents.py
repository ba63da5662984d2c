"""Environments of gymnasium with several agents, whose spaces are tuples, with the interface of
envs.several.multi_agent."""

from typing import Any

import gymnasium
from gymnasium.spaces import Space, Tuple

from config.own import objects as own
from envs.base import EnvError
from envs.several.roster import ALL

Values = dict[str, Any]


class Agents:
    """An environment whose observations, actions and rewards are tuples with a part for each agent: agent_0, agent_1
    and so on, all of which act in each step."""

    def __init__(self, env: gymnasium.Env) -> None:
        self.env = env
        self.metadata = env.metadata or {}
        observed, acted = env.observation_space, env.action_space
        if not (isinstance(observed, Tuple) and isinstance(acted, Tuple) and len(observed) == len(acted)):
            raise EnvError(
                "its spaces are {observed} and {acted}; expected tuples with a part for each agent",
                observed=observed,
                acted=acted,
            )
        self.possible_agents = [f"agent_{number}" for number in range(len(acted))]
        pairs = zip(observed.spaces, acted.spaces, strict=True)
        self._spaces: dict[str, tuple[Space, Space]] = dict(zip(self.possible_agents, pairs, strict=True))

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def observation_space(self, agent: str) -> Space:
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Space:
        return self._spaces[agent][1]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        obs, _ = self.env.reset(seed=seed, options=options)
        return self._by_agent(obs), {}

    def step(self, actions: Values) -> tuple[Values, Values, Values, Values, Values]:
        env: Any = self.env
        obs, rewards, terminated, truncated, _ = env.step(tuple(actions[agent] for agent in self.possible_agents))
        end = {ALL: _of_all(terminated)}
        # an episode that ends and is cut in the same step has ended
        return self._by_agent(obs), self._by_agent(rewards), end, {ALL: not end[ALL] and _of_all(truncated)}, {}

    def render(self) -> Any:
        render: Any = self.env.unwrapped.render
        takes_mode = any(parameter.name == "mode" for parameter in own.parameters_of(render) or ())
        return render(mode="rgb_array") if takes_mode else render()

    def close(self) -> None:
        self.env.close()

    def _by_agent(self, values: Any) -> Values:
        return dict(zip(self.possible_agents, values, strict=True))


def _of_all(ends: Any) -> bool:
    """Returns True if an episode ends: one value for all agents, or one for each."""
    return all(ends) if isinstance(ends, list | tuple) else bool(ends)
