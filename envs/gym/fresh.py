"""Makes an episode a function of its seed and actions where a reset leaves something of the episode before."""

from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.utils.seeding import np_random


class Fresh(gymnasium.Wrapper):
    """Calls a function with the innermost environment and the seed before each reset."""

    def __init__(self, env: gymnasium.Env, forget: Callable[[Any, int], None]) -> None:
        super().__init__(env)
        self._forget = forget

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._forget(self.unwrapped, seed)
        return self.env.reset(seed=seed, options=options)


def generator(env: Any, seed: int) -> None:
    """Seeds the generator before a reset that draws from it before it takes the seed."""
    env.np_random = np_random(seed)[0]


def last_action(env: Any, seed: int) -> None:
    """Clears the action that a game repeats now and then, in place of the chosen one."""
    env.game.last_action = 0


FORGETS = {function.__name__: function for function in (generator, last_action)}
"""Name in the table of packages -> function."""
