"""Goal-conditioned toys, for hindsight relabeling."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary

from config.tell.language import tr

Obs = dict[str, np.ndarray]


class BitFlip(gymnasium.Env):
    """Bit flipping: bits are flipped one by one until they equal the goal (Andrychowicz et al., 2017). Each step gives
    -1, the one that reaches the goal 0. The best return is 1 - the number of bits that differ at the start.

    With continuous: true an action is a number for each bit, and the bit of the highest is flipped."""

    def __init__(self, n: int = 6, continuous: bool = False) -> None:
        if not 1 <= n <= 62:
            raise ValueError(tr("n is {n}; it can be 1 to 62", n=n))
        self.n = n
        self.action_space = Box(-1, 1, (n,)) if continuous else Discrete(n)
        self.observation_space = Dict(
            {name: MultiBinary(n) for name in ("observation", "achieved_goal", "desired_goal")}
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        super().reset(seed=seed)
        self._bits = self.np_random.integers(0, 2, self.n, np.int8)
        different = int(self.np_random.integers(1, 2**self.n))
        self._goal = self._bits ^ np.array([different >> i & 1 for i in range(self.n)], np.int8)
        self._left = self.n
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        self._bits[int(np.argmax(action)) if np.ndim(action) else int(action)] ^= 1
        self._left -= 1
        reward = float(self.compute_reward(self._bits, self._goal, {}))
        terminated = bool(self.compute_terminated(self._bits, self._goal, {}))
        return self._seen(), reward, terminated, self._left == 0 and not terminated, {"is_success": terminated}

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        """Returns 0 if all bits are equal, else -1; for one pair of goals [n] or for many [B, n]."""
        return self.compute_terminated(achieved_goal, desired_goal, info) - 1.0

    def compute_terminated(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any) -> np.ndarray:
        return np.all(achieved_goal == desired_goal, axis=-1)

    def _seen(self) -> Obs:
        return {"observation": self._bits.copy(), "achieved_goal": self._bits.copy(), "desired_goal": self._goal}


class Reach(gymnasium.Env):
    """A point between -1 and 1 in n dimensions moves by a fifth of the action, until it is within 0.1 of the goal in
    each: -1 for a step, 0 for the one that gets there. With d the largest distance of a dimension at the start, the
    best return is 1 - ceil((d - 0.1) / 0.2), or 0 where that is more."""

    def __init__(self, n: int = 1, limit: int = 20) -> None:
        if n < 1 or limit < 1:
            raise ValueError(tr("n is {n} and limit is {limit}; both can be 1 or more", n=n, limit=limit))
        self.limit = limit
        self.action_space = Box(-1, 1, (n,))
        names = ("observation", "achieved_goal", "desired_goal")
        self.observation_space = Dict({name: Box(-1, 1, (n,)) for name in names})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        super().reset(seed=seed)
        size = self.action_space.shape
        self._at, self._goal = (self.np_random.uniform(-1, 1, size).astype(np.float32) for _ in range(2))
        self._left = self.limit
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        self._at = np.clip(self._at + 0.2 * np.clip(action, -1, 1), -1, 1).astype(np.float32)
        self._left -= 1
        reward = float(self.compute_reward(self._at, self._goal, {}))
        terminated = bool(self.compute_terminated(self._at, self._goal, {}))
        return self._seen(), reward, terminated, self._left == 0 and not terminated, {"is_success": terminated}

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        """Returns 0 if the goal is reached, else -1; for one pair of goals [n] or for many [B, n]."""
        return self.compute_terminated(achieved_goal, desired_goal, info) - 1.0

    def compute_terminated(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any) -> np.ndarray:
        return np.all(np.abs(achieved_goal - desired_goal) <= 0.1, axis=-1)

    def _seen(self) -> Obs:
        return {"observation": self._at, "achieved_goal": self._at, "desired_goal": self._goal}
