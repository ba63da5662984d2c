"""Counters that fail: they crash, return NaN, sleep or hang."""

import time
from typing import Any, Literal

import gymnasium
import numpy as np

from config.tell.language import tr
from envs.toy.timed import Counter


class Crash(gymnasium.Wrapper):
    """Raises in the method named by `at`; for a step, in step number `step` of an episode."""

    def __init__(self, at: Literal["make", "reset", "step", "render", "close"] = "step", step: int = 3) -> None:
        super().__init__(Counter(length=2 * step, render_mode="rgb_array"))
        self.at, self.step_of_crash, self.count = at, step, 0
        self._raise_if("make")

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        self._raise_if("reset")
        self.count = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.count == self.step_of_crash:
            self._raise_if("step")
        return self.env.step(action)

    def render(self) -> Any:
        self._raise_if("render")
        return self.env.render()

    def close(self) -> None:
        self._raise_if("close")

    def _raise_if(self, here: str) -> None:
        if self.at == here:
            raise ZeroDivisionError(tr("the toy crashes in {call}, as it was told to", call=here))


class Bad(gymnasium.Wrapper):
    """Returns a NaN or infinite reward or observation in step number `step` of an episode."""

    def __init__(
        self, field: Literal["reward", "obs"] = "reward", value: Literal["nan", "inf"] = "nan", step: int = 3
    ) -> None:
        super().__init__(Counter(length=2 * step))
        self.field, self.value, self.step_of_fault = field, float(value), step

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        if info["count"] == self.step_of_fault:
            if self.field == "reward":
                reward = self.value
            else:
                obs = np.full(1, self.value, np.float32)
        return obs, float(reward), terminated, truncated, info


class Sleep(gymnasium.Wrapper):
    """Sleeps some seconds in each step."""

    def __init__(self, seconds: float = 0.01, length: int = 5) -> None:
        super().__init__(Counter(length=length))
        self.seconds = seconds

    def step(self, action: Any) -> Any:
        time.sleep(self.seconds)
        return self.env.step(action)


class Hang(gymnasium.Wrapper):
    """Never returns from step number `step` of an episode."""

    def __init__(self, step: int = 3) -> None:
        super().__init__(Counter(length=2 * step))
        self.step_of_hang, self.count = step, 0

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        self.count = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        self.count += 1
        while self.count == self.step_of_hang:
            time.sleep(1)
        return self.env.step(action)
