"""A module as a user would write it: environments and wrappers of one's own."""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from envs.base import EnvContext
from framework.record.callbacks import Callbacks

NOT_CALLABLE = 3


class Line(gymnasium.Env):
    """A walk to the end of a line of `size` cells, from a cell that the seed chooses; each step costs 1."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def __init__(self, size: int, start: int = 0, render_mode: str | None = None) -> None:
        self.size, self.start, self.render_mode = size, start, render_mode
        self.observation_space, self.action_space = Box(0, size, (1,)), Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(self.start, self.size))
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.at = max(0, self.at + (1 if action else -1))
        return self._seen(), -1.0, self.at == self.size, False, {"at": self.at}

    def render(self) -> Any:
        return np.full((8, 8, 3), self.at, np.uint8)

    def _seen(self) -> np.ndarray:
        return np.array([self.at], np.float32)


class Placed(Line):
    """A line that keeps the context that it was made with."""

    made: ClassVar[list[EnvContext]] = []

    def __init__(self, env_config: EnvContext) -> None:
        super().__init__(env_config["size"])
        Placed.made.append(env_config)


class Halved(gymnasium.RewardWrapper):
    """A wrapper of one's own: rewards times `factor`."""

    def __init__(self, env: gymnasium.Env, factor: float = 0.5) -> None:
        super().__init__(env)
        self.factor = factor

    def reward(self, reward: Any) -> float:
        return float(reward) * self.factor


class OldLine:
    """The old interface: a step of four values, a reset without arguments, a method seed."""

    observation_space, action_space = Box(0, 9, (1,)), Discrete(2)

    def __init__(self, limit: int = 6) -> None:
        self.limit, self.rng = limit, np.random.RandomState(0)

    def seed(self, seed: int) -> None:
        self.rng = np.random.RandomState(seed)

    def reset(self) -> np.ndarray:
        self.time, self.at = 0, int(self.rng.randint(3))
        return np.array([self.at], np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        self.time, self.at = self.time + 1, max(0, self.at + (1 if action else -1))
        cut = self.time == self.limit
        info = {"TimeLimit.truncated": self.at != 4} if cut else {}
        return np.array([self.at], np.float32), -1.0, self.at == 4 or cut, info


class Several:
    """Two agents, as in PettingZoo."""

    @property
    def num_agents(self) -> int:
        return 2

    def reset(self, seed: int | None = None) -> None: ...

    def step(self, actions: Any) -> None: ...


def old_line(limit: int = 6) -> gymnasium.Env:
    """A function that makes an environment with the old interface."""
    from envs.python.old_gym import OldGym

    return OldGym(OldLine(limit))


def lines(num_envs: int, size: int = 3, mode: str = "SameStep") -> Any:
    """A vector environment of gymnasium."""
    return gymnasium.vector.SyncVectorEnv([lambda: Line(size)] * num_envs, autoreset_mode=mode)


class Staged(gymnasium.Env):
    """Episodes of 4 steps plus 2 for each phase, and a reward of 1 a step. Observes the phase, the time, and a number
    of the seed, so that nothing but the right phase repeats an episode."""

    observation_space, action_space = Box(-100, 100, (3,)), Discrete(2)
    broken: ClassVar[float] = -1

    def __init__(self, first: float = 0) -> None:
        self.phase, self.time, self.number, self.wind = first, 0, 0.0, 0.0

    def set_phase(self, value: float) -> None:
        assert isinstance(value, int if value == round(value) else float)
        if value == Staged.broken:
            raise ValueError("there is no such phase")
        self.next_phase = value

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.phase, self.time = getattr(self, "next_phase", self.phase), 0
        self.number = float(self.np_random.uniform())
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        return self._seen(), 1.0, self.time == 4 + 2 * self.phase, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.phase, self.time, self.number + self.wind], np.float32)


class PhaseByHand(Callbacks):
    """Sets the phases as the configuration of the tests does."""

    def on_train_result(self, *, run: Any, result: Any) -> None:
        run.set_phase(by_hand(result))


def by_hand(result: Any) -> int:
    """The phase that the configuration of the tests chooses after an iteration."""
    return sum(result["step"] >= bound for bound in (40, 100))
