"""Environments of five steps whose observations are of every kind; what a step gives depends on the action."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space


class _Five(gymnasium.Env):
    observation_space: Space = Box(-1, 1, (2,), np.float64)
    action_space: Space = Discrete(3)
    masked = False

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        self.observation_space.seed(0 if seed is None else seed)
        return self.observation_space.sample(), self.info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert not self.masked or self.info()["action_mask"][action], "not a legal action"
        self.count += 1
        reward = self.count * float(np.sum(action))
        return self.observation_space.sample(), reward, self.count == 5, False, self.info()

    def info(self) -> dict[str, Any]:
        return {"action_mask": np.arange(3) != self.count % 3} if self.masked else {}


class Parts(_Five):
    observation_space = Dict({
        "stock": Box(0, 9, (3,)), "day": Discrete(7, start=1), "in": Dict({"b": MultiDiscrete([2, 3])}),
    })  # fmt: skip


class Choices(_Five):
    observation_space = Dict({"day": Discrete(7, start=1), "deep": Dict({"shop": Discrete(2)})})


class Picture(_Five):
    observation_space = Box(0, 255, (24, 24, 3), np.uint8)


class Dial(_Five):
    """An observation is a number, and so is an action; all settings are one argument."""

    action_space = Box(-1, 1, ())

    def __init__(self, env_config: dict[str, Any]) -> None:
        self.observation_space = Box(0, env_config["size"], ())

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert np.shape(action) == (), "not a number"
        return super().step(action)


class Noisy(_Five):
    """What training has and evaluations do not: noise, and easy phases."""

    action_space = Box(-1, 1, (1,))
    phase: float | None = None

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise

    def set_phase(self, value: float) -> None:
        self.phase = value


class Masked(_Five):
    """A number is observed, and the mask is in the info."""

    observation_space = Discrete(7, start=1)
    masked = True


class MaskedParts(_Five):
    """The mask is a part of the observation; a step with another action than it allows is an error."""

    observation_space = Dict({"x": Box(-1, 1, (2,)), "day": Discrete(4), "action_mask": Box(0, 1, (3,), np.int8)})

    def reset(self, **given: Any) -> tuple[Any, dict[str, Any]]:
        return self._with(super().reset(**given)[0]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.count % 3 != action, "not a legal action"
        obs, *rest = super().step(action)
        return (self._with(obs), *rest)

    def _with(self, obs: Any) -> Any:
        return {**obs, "action_mask": (np.arange(3) != self.count % 3).astype(np.int8)}


class MaskedPart(MaskedParts):
    """One part remains without the mask."""

    observation_space = Dict({"x": Box(-1, 1, (2,)), "action_mask": Box(0, 1, (3,), np.int8)})
