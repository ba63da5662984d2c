"""A task with actions of several parts: which mode, and a number for each mode."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Tuple

from config.tell.language import tr

MODES = 3


class Modes(gymnasium.Env):
    """Parameterized actions: a mode 0, 1 or 2, and a number -1..1 for each mode, of which only that of the chosen mode
    counts. The observation names the mode that is right (`mode`) and shows a number x (`x`, -1..1). The right mode
    gives 1 - (number - target)^2, where the target is x in mode 0, -x in mode 1 and x^2 in mode 2; a wrong one gives 0.
    The best policy has a return of `steps`.

    With mask: true, one of the two wrong modes is forbidden in each step, and choosing it is an error."""

    def __init__(self, steps: int = 1, mask: bool = False) -> None:
        self.steps, self.mask = steps, mask
        self.observation_space = Dict({"mode": Discrete(MODES), "x": Box(-1, 1, (1,))})
        self.action_space = Dict({"mode": Discrete(MODES), "number": Tuple([Box(-1, 1, (1,)) for _ in range(MODES)])})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._left = self.steps
        return self._next()

    def _next(self) -> tuple[Any, dict[str, Any]]:
        """Draws an observation, and the mode that is forbidden."""
        self._mode, self._x = self.np_random.integers(MODES), self.np_random.uniform(-1, 1, 1).astype(np.float32)
        self._forbidden = (self._mode + self.np_random.integers(1, MODES)) % MODES
        info = {"action_mask": {"mode": np.int8(np.arange(MODES) != self._forbidden)}} if self.mask else {}
        return {"mode": self._mode, "x": self._x}, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        mode = int(action["mode"])
        if self.mask and mode == self._forbidden:
            raise ValueError(tr("mode {mode} is not legal here", mode=mode))
        target = (self._x, -self._x, self._x**2)[mode]
        right = mode == self._mode
        reward = 1.0 - float((action["number"][mode][0] - target[0]) ** 2) if right else 0.0
        self._left -= 1
        obs, info = self._next()
        return obs, reward, self._left == 0, False, info
