"""Scenarios of VMAS, by an id each: vmas/balance and so on. Each row is a world of its own, stepped by itself."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space, Tuple

from config.own import env_packages
from envs.base import Array


class Scenario(gymnasium.Env):
    """A world with several agents; observations, actions and rewards are tuples with a part for each of them."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, scenario: str, max_steps: int = 100, render_mode: str | None = None, **settings: Any) -> None:
        """settings: arguments of vmas.make_env, and those of the scenario such as n_agents."""
        make = env_packages.load("vmas").make_env
        self.render_mode = render_mode
        self._world = make(scenario, num_envs=1, max_steps=max_steps, terminated_truncated=True, **settings)
        self.observation_space = Tuple([_space(part) for part in self._world.observation_space.spaces])
        self.action_space = Tuple([_space(part) for part in self._world.action_space.spaces])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[tuple[Array, ...], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._world.seed(int(seed % 2**32))
        return self._arrays(self._world.reset()), {}

    def step(self, action: Any) -> Any:
        import torch

        actions = [torch.as_tensor(np.asarray(part, np.float32).reshape(1, -1)) for part in action]
        obs, rewards, terminated, truncated, _ = self._world.step(actions)
        return self._arrays(obs), [float(reward[0]) for reward in rewards], bool(terminated[0]), bool(truncated[0]), {}

    def render(self) -> Any:
        return None if self.render_mode is None else self._world.render(mode="rgb_array", env_index=0)

    @staticmethod
    def _arrays(parts: Any) -> tuple[Array, ...]:
        return tuple(np.array(part[0].cpu().numpy(), np.float32) for part in parts)


def _space(space: Any) -> Space:
    """Returns a space of the package gym as one of gymnasium."""
    kind = type(space).__name__
    if kind == "Discrete":
        return Discrete(int(space.n))
    if kind == "MultiDiscrete":
        return MultiDiscrete(space.nvec)
    return Box(np.asarray(space.low, np.float32), np.asarray(space.high, np.float32), dtype=np.float32)


def register() -> None:
    """Registers each scenario that the package has."""
    names = env_packages.load("vmas").scenarios
    for name in names:
        entry: Any = Scenario
        gymnasium.register(f"vmas/{name}", entry, kwargs={"scenario": name})
