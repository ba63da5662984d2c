"""Environments and policies for the tests of the data layer."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from framework.data.batch import Batch
from framework.data.policy import Policy


class Counts(gymnasium.Env):
    """Counts its steps, and terminates after `length` of them. Every step gives the reward 1."""

    def __init__(self, length: int) -> None:
        self.length, self.calls = length, 0
        self.observation_space, self.action_space = Box(0, np.inf, (1,), np.float32), Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.calls += 1
        self.steps += 1
        return np.full(1, self.steps, np.float32), 1.0, self.steps >= self.length, False, {"steps": self.steps}


class Recording(Policy):
    """Chooses action 1, and records the phases in which it is called."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bool, bool]] = []
        self.sizes: list[int] = []

    def forward(self, batch: Batch, state: Any = None) -> Batch:
        self.seen.append(("forward", self.training, self.updating))
        return Batch(act=np.ones(len(batch.obs), np.int64))

    def learn(self, batch: Batch) -> dict[str, float]:
        self.seen.append(("learn", self.training, self.updating))
        self.sizes.append(len(batch.rew))
        return {"loss": float(len(self.sizes))}
