"""An environment that costs nothing, to measure the speed of everything else: images that were drawn before."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

ID = "JoystickBlank-v0"


class Blank(gymnasium.Env):
    """Gives one of 64 images at each step; an episode has 200."""

    observation_space = Box(0, 255, (84, 84, 4), np.uint8)
    action_space = Discrete(4)

    def __init__(self) -> None:
        self._images = np.random.default_rng(0).integers(0, 256, (64, 84, 84, 4), np.uint8)
        self._step = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._step = 0
        return self._images[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._step += 1
        return self._images[self._step % 64], 1.0, self._step == 200, False, {}


if ID not in gymnasium.registry:
    gymnasium.register(ID, Blank)
