"""PettingZoo's two interfaces as the dict interface of envs.several.multi_agent. Imports nothing of PettingZoo."""

from collections.abc import Callable
from typing import Any

Values = dict[str, Any]


class Adapter:
    """Base class of both adapters."""

    def __init__(self, make: Callable[[], Any], anew: bool = False) -> None:
        """anew: True if each episode needs a new environment."""
        self._make, self._anew = make, anew
        self.env = make()
        self.metadata = getattr(self.env, "metadata", None) or {}

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    @property
    def possible_agents(self) -> list[str]:
        return list(self.env.possible_agents)

    def observation_space(self, agent: str) -> Any:
        return self.env.observation_space(agent)

    def action_space(self, agent: str) -> Any:
        return self.env.action_space(agent)

    def state(self) -> Any:
        """Returns the global state. Some environments have an attribute of this name with another meaning."""
        if not callable(getattr(self.env.unwrapped, "state", None)):
            raise NotImplementedError
        return self.env.state()

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def renew(self) -> None:
        """Makes a new environment, if each episode needs one."""
        if self._anew:
            self.env.close()
            self.env = self._make()


class Parallel(Adapter):
    """A ParallelEnv: all agents act in each step."""

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        self.renew()
        pair: tuple[Values, Values] = self.env.reset(seed=seed, options=options)
        return pair

    def step(self, actions: Values) -> Any:
        return self.env.step(actions)


class Turns(Adapter):
    """An AECEnv: one agent acts in each step, and all are observed. The reward and the end of an agent are those of
    last() when its turn comes, which for an agent that has ended is the step with None."""

    def acting_agents(self) -> list[str]:
        """Returns the agents that act next."""
        return [self.env.agent_selection] if self.env.agents else []

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        self.renew()
        self.env.reset(seed=seed, options=options)
        return self._observed(), self._infos()

    def step(self, actions: Values) -> tuple[Values, Values, Values, Values, Values]:
        env = self.env
        env.step(actions[env.agent_selection])
        obs: Values = {}
        rewards: Values = {}
        terminated: Values = {}
        truncated: Values = {}
        infos: Values = {}
        while env.agents:
            agent = env.agent_selection
            _, rewards[agent], terminal, cut, infos[agent] = env.last(observe=False)
            if not (terminal or cut):
                break
            obs[agent], terminated[agent], truncated[agent] = env.observe(agent), terminal, cut
            env.step(None)
        return {**obs, **self._observed()}, rewards, terminated, truncated, {**infos, **self._infos()}

    def _observed(self) -> Values:
        return {agent: self.env.observe(agent) for agent in self.env.agents}

    def _infos(self) -> Values:
        return {agent: self.env.infos[agent] for agent in self.env.agents}


def with_turns(env: Any) -> Any:
    """Returns an AECEnv with the dict interface, and any other environment as it is."""
    takes_turns = callable(getattr(env, "observe", None)) and callable(getattr(env, "last", None))
    return Turns(lambda: env) if takes_turns else env
