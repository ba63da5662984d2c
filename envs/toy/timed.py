"""Toy environments in time: discounting, time limits, and ramps of numbers."""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from config.tell.language import tr

Outcome = tuple[Any, float, bool, bool, dict[str, Any]]


class TwoStep(gymnasium.Env):
    """Observation 0, then 1, then the end with reward 1: the first value is gamma, the second 1."""

    observation_space = Box(0, 2, (1,))
    action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Outcome:
        self._time += 1
        end = self._time == 2
        return np.full(1, self._time, np.float32), float(end), end, False, {}


class TimeLimit(gymnasium.Env):
    """Observation 0 and a constant reward, truncated after some steps: the value is
    reward / (1 - gamma) with bootstrapping at the truncation, and less if it is taken for a termination."""

    observation_space = Box(-1, 1, (1,))
    action_space = Discrete(2)

    def __init__(self, steps: int = 10, reward: float = 1.0) -> None:
        self.steps, self.gain = steps, reward

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._left = self.steps
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Outcome:
        if self._left == 0:
            raise RuntimeError(tr("stepped after the end of the episode"))
        self._left -= 1
        return np.zeros(1, np.float32), self.gain, False, self._left == 0, {}


class Recall(gymnasium.Env):
    """A cue, -1 or 1, is shown at the first step only; the action after `delay` steps, when the second number is 1,
    must name it: 1 for the action of its sign, else -1; continuous, the cue times the action. A policy without
    memory gets 0 on average."""

    observation_space = Box(-1, 1, (2,))

    def __init__(self, delay: int = 4, continuous: bool = False) -> None:
        if delay < 1:
            raise ValueError(tr("delay is {delay}; it can be 1 or more", delay=delay))
        self.delay, self.continuous = delay, continuous
        self.action_space = Box(-1, 1, (1,)) if continuous else Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._time, self._cue = 0, float(self.np_random.choice((-1, 1)))
        return np.array([self._cue, 0], np.float32), {}

    def step(self, action: Any) -> Outcome:
        end = self._time == self.delay
        answer = float(action[0]) if self.continuous else 2.0 * float(action) - 1
        reward = self._cue * answer if end else 0.0
        self._time += 1
        return np.array([0, self._time == self.delay], np.float32), reward, end, False, {}


class Counter(gymnasium.Env):
    """Observation and reward count the steps: 0, then 1 with reward 1, 2 with reward 2. One array is used for all
    observations, and a step after the end is an error."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    action_space = Discrete(2)

    def __init__(
        self,
        length: int = 5,
        end: Literal["terminated", "truncated", "both", "never"] = "terminated",
        render_mode: str | None = None,
    ) -> None:
        if end not in ("terminated", "truncated", "both", "never"):
            raise ValueError(tr("end is {end!r}; it can be terminated, truncated, both or never", end=end))
        self.length, self.end, self.render_mode = length, end, render_mode
        self.observation_space = Box(0, np.inf, (1,))
        self._obs = np.zeros(1, np.float32)
        self._ended = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._obs[0], self._ended = 0, False
        return self._obs, {"count": 0}

    def step(self, action: Any) -> Outcome:
        if self._ended:
            raise RuntimeError(tr("stepped after the end of the episode"))
        self._obs += 1
        count = int(self._obs[0])
        self._ended = count == self.length and self.end != "never"
        terminated = self._ended and self.end in ("terminated", "both")
        truncated = self._ended and self.end in ("truncated", "both")
        return self._obs, float(count), terminated, truncated, {"count": count}

    def render(self) -> Any:
        picture = np.full((32, 64, 3), 40, np.uint8)
        picture[:, : 64 * int(self._obs[0]) // max(self.length, 1)] = 220
        return picture
