"""Playing environments in tests."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from envs.base import Array, VectorEnv
from envs.common.rows import assemble
from envs.common.vector import GymnasiumVector, mode_of
from envs.gym import Config
from envs.gym import env as gym_env

PATTERN = np.random.default_rng(7).integers(0, 2, (8, 4096))
"""Actions that depend only on the row and on how many steps it has taken."""


class Transition(NamedTuple):
    obs: bytes
    action: int
    reward: float
    next_obs: bytes
    terminated: bool
    truncated: bool


def everyone(env: VectorEnv) -> Array:
    return np.ones(env.rows, bool)


def sample(space: Space, rows: int, seed: int = 0) -> Iterator[Array]:
    space.seed(seed)
    while True:
        yield np.stack([space.sample() for _ in range(rows)])


def play(env: VectorEnv, steps: int) -> list[list[Transition]]:
    """The transitions of each row, that of dummy steps left out. Episode e of row i has the seed 1000 i + e."""
    rows: list[list[Transition]] = [[] for _ in range(env.rows)]
    seeds = 1000 * np.arange(env.rows)
    obs = env.reset(everyone(env), seeds)
    while min(map(len, rows)) < steps:
        action = np.array([PATTERN[i, len(row)] for i, row in enumerate(rows)])
        out = env.step(action)
        for i, row in enumerate(rows):
            if env.valid is None or env.valid[i]:
                flags = bool(out.terminated[i]), bool(out.truncated[i])
                parts = obs[i].tobytes(), int(action[i]), float(out.reward[i]), out.obs[i].tobytes()
                row.append(Transition(*parts, *flags))
        ended = out.terminated | out.truncated
        seeds = seeds + ended
        obs = env.reset(ended, seeds) if ended.any() else out.obs.copy()
    return [row[:steps] for row in rows]


class Corridor(gymnasium.Env):
    """Terminates 3 steps to the right, is cut off after 7 steps; tells nothing but where it is, in one array."""

    observation_space: Space = Box(-10, 10, (1,))
    action_space: Space = Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self._obs = np.zeros(1, np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._obs[0], self._time = 0, 0
        return self._obs, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._obs += 1 if action else -1
        self._time += 1
        return self._obs, self._obs[0] / 2, bool(self._obs[0] == 3), self._time == 7, {"time": self._time}


def corridor_with(**changes: Any) -> Callable[[], gymnasium.Env]:
    """A maker of a corridor with other methods or attributes."""
    return type("Changed", (Corridor,), changes)


def assembled(factory: Callable[[], gymnasium.Env], *arguments: Any, **settings: Any) -> VectorEnv:
    """Rows of an environment that is the same in each."""
    return assemble(lambda index: factory(), *arguments, **settings)


def cartpole(kind: str, rows: int = 3) -> VectorEnv:
    """Short enough for both kinds of end."""
    return gym_env.make(Config(vectorization=kind, max_episode_steps=20), rows)


def foreign(kind: type, mode: str, factory: Callable[[], gymnasium.Env] = Corridor, rows: int = 3) -> VectorEnv:
    """A vector environment that is not ours, in one of gymnasium's autoreset modes."""
    return GymnasiumVector(mode_of(kind([factory] * rows, autoreset_mode=mode)), "corridor")


def counting_from(obs: int, action: int) -> type[gymnasium.Env]:
    """An environment of 5 steps, whose observations and actions begin at other numbers than 0."""

    class Counted(gymnasium.Env):
        observation_space, action_space = Discrete(3, start=obs), Discrete(4, start=action)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            self.steps = 0
            return np.int64(obs), {}

        def step(self, action: Any) -> Any:
            assert self.action_space.contains(action)
            self.steps += 1
            return np.int64(obs + self.steps % 3), 1.0, self.steps == 5, False, {"action": action}

    return Counted
