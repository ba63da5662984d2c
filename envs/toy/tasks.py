"""Contextual bandits: each step shows an observation drawn from the seed, and rewards the action on it.

With steps: 1 the value of an observation is the reward of the best action on it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space


class Task(NamedTuple):
    """Observation, and reward of an action on it."""

    observation_space: Space
    action_space: Space
    draw: Callable[[np.random.Generator], Any]
    reward_of: Callable[[Any, Any], float]


class Draws(gymnasium.Env):
    """Runs a task for some steps; the last one terminates the episode."""

    def __init__(self, task: Task, steps: int = 1) -> None:
        self.task, self.steps = task, steps
        self.observation_space, self.action_space = task.observation_space, task.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._left = self.steps
        self._obs = self.task.draw(self.np_random)
        return self._obs, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = self.task.reward_of(self._obs, action)
        self._left -= 1
        self._obs = self.task.draw(self.np_random)
        return self._obs, reward, self._left == 0, False, {}


def _sign(rng: np.random.Generator) -> np.ndarray:
    return rng.choice(np.array([-1.0, 1.0], np.float32), 1)


def constant(reward: float = 1.0) -> Task:
    """Observation 0, always the same reward."""
    space = Box(-1, 1, (1,))
    return Task(space, Discrete(2), lambda rng: np.zeros(1, np.float32), lambda obs, action: reward)


def sign() -> Task:
    """Observation -1 or 1, which is also the reward."""
    return Task(Box(-1, 1, (1,)), Discrete(2), _sign, lambda obs, action: float(obs[0]))


def choice() -> Task:
    """Observation 0; action 1 gives 1, action 0 gives -1."""
    space = Box(-1, 1, (1,))
    return Task(space, Discrete(2), lambda rng: np.zeros(1, np.float32), lambda obs, action: 2.0 * float(action) - 1)


def match() -> Task:
    """Observation -1 or 1; action 0 or 1 of the same sign gives 1, the other -1."""
    return Task(Box(-1, 1, (1,)), Discrete(2), _sign, lambda obs, action: float(obs[0]) * (2.0 * float(action) - 1))


def shifted(start: int = 5) -> Task:
    """Observations and actions start, start + 1, start + 2; the same number gives 1."""
    space = Discrete(3, start=start)

    def draw(rng: np.random.Generator) -> np.int64:
        return start + rng.integers(3)

    return Task(space, space, draw, lambda obs, action: float(obs == action))


def target(low: float = -2.0, high: float = 3.0) -> Task:
    """Observation between -1 and 1; the reward is minus the squared distance of the action from it."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(-1, 1, 1).astype(np.float32)

    return Task(Box(-1, 1, (1,)), Box(low, high, (1,)), draw, lambda obs, action: -float((action[0] - obs[0]) ** 2))


def digits() -> Task:
    """MultiDiscrete observation; the reward is the share of digits that the action repeats."""
    space = MultiDiscrete([3, 2])

    def draw(rng: np.random.Generator) -> np.ndarray:
        return rng.integers([3, 2])

    return Task(space, space, draw, lambda obs, action: float(np.mean(obs == action)))


def bits(n: int = 3) -> Task:
    """MultiBinary observation; the reward is the share of bits that the action repeats."""
    space = MultiBinary(n)

    def draw(rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, 2, n).astype(np.int8)

    return Task(space, space, draw, lambda obs, action: float(np.mean(obs == action)))


def image(size: int = 16) -> Task:
    """Picture [1, size, size] of uint8 whose left or right half is white; naming the half (0 or 1) gives 1, else -1."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        picture = np.zeros((1, size, size), np.uint8)
        half = size // 2
        picture[..., half * rng.integers(2) :][..., :half] = 255
        return picture

    def reward_of(obs: np.ndarray, action: Any) -> float:
        return 1.0 if bool(obs[0, 0, -1]) == bool(action) else -1.0

    return Task(Box(0, 255, (1, size, size), np.uint8), Discrete(2), draw, reward_of)


def parts() -> Task:
    """Dict of place [2] and cell (0, 1, 2); action 1 gives 1 where cell is 0 and place[0] is above 0, else action 0."""
    space = Dict({"place": Box(-1, 1, (2,)), "cell": Discrete(3)})

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        return {"place": rng.uniform(-1, 1, 2).astype(np.float32), "cell": rng.integers(3)}

    def reward_of(obs: dict[str, Any], action: Any) -> float:
        return float(bool(action) == bool(obs["cell"] == 0 and obs["place"][0] > 0))

    return Task(space, Discrete(2), draw, reward_of)


TASKS: dict[str, Callable[..., Task]] = {
    task.__name__: task for task in (constant, sign, choice, match, shifted, target, digits, bits, image, parts)
}
