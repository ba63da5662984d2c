"""A multi-agent environment of a user's own, whose agents have the spaces that an algorithm needs."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

OBSERVATIONS = {"Box": Box(-1, 1, (3,)), "Discrete": Discrete(4)}
ACTIONS = {"Discrete": Discrete(3), "Box": Box(-1, 1, (2,))}


class Turns:
    """Agent a acts at every step and leaves after four; b acts at every second step; c enters at the second one. An
    episode has seven steps."""

    possible_agents = ("a", "b", "c")

    def __init__(self, obs: str = "Box", action: str = "Discrete") -> None:
        self._obs, self._action = OBSERVATIONS[obs], ACTIONS[action]

    def observation_space(self, agent: str) -> Any:
        return self._obs

    def action_space(self, agent: str) -> Any:
        return self._action

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.time, self.rng = 0, np.random.default_rng(seed)
        return {"a": self._seen(), "b": self._seen()}, {}

    def step(self, actions: dict[str, Any]) -> Any:
        self.time += 1
        names = [
            *("a" if self.time <= 4 else ""),
            *("b" if self.time % 2 == 0 else ""),
            *("c" if self.time >= 2 else ""),
        ]
        reward = {name: float(np.sum(action)) for name, action in actions.items()}
        obs = {name: self._seen() for name in names}
        return obs, reward, {"a": self.time == 4, "__all__": self.time == 7}, {}, {}

    def _seen(self) -> Any:
        if isinstance(self._obs, Discrete):
            return int(self.rng.integers(4))
        return self.rng.uniform(-1, 1, 3).astype(np.float32)
