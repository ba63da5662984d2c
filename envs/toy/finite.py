"""Toys with finitely many states: action masks, and known transition models."""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary

from config.tell.language import tr

Outcome = tuple[Any, float, bool, bool, dict[str, Any]]


class Masked(gymnasium.Env):
    """Shows a number k. Action k is illegal, k + 1 gives reward 1, k + 2 gives 0, k + 3 gives -1 and so on (all modulo
    the number of actions); each of these except k + 1 is legal or not at random. An illegal action raises.

    The observation is k + actions * (steps done), so that the value of each is known: the best return is steps."""

    def __init__(self, actions: int = 4, steps: int = 2, mask: Literal["info", "obs"] = "info") -> None:
        if actions < 2 or steps < 1:
            raise ValueError(
                tr(
                    "actions is {actions} and steps is {steps}; at least 2 and 1 are needed",
                    actions=actions,
                    steps=steps,
                )
            )
        if mask not in ("info", "obs"):
            raise ValueError(tr("mask is {mask!r}; it can be info or obs", mask=mask))
        self.actions, self.steps, self.mask = actions, steps, mask
        self.action_space = Discrete(actions)
        states = Discrete(actions * steps)
        parts = {"observation": states, "action_mask": MultiBinary(actions)}
        self.observation_space = states if mask == "info" else Dict(parts)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._time = 0
        return self._draw()

    def step(self, action: Any) -> Outcome:
        if not self._legal[action]:
            raise ValueError(
                tr(
                    "action {action} is illegal; legal are {actions}",
                    action=action,
                    actions=np.flatnonzero(self._legal).tolist(),
                )
            )
        reward = 2.0 - (int(action) - self._state) % self.actions
        self._time += 1
        obs, info = self._draw()
        return obs, reward, self._time == self.steps, False, info

    def _draw(self) -> tuple[Any, dict[str, Any]]:
        self._state = int(self.np_random.integers(self.actions))
        ahead = (np.arange(self.actions) - self._state) % self.actions
        self._legal = (ahead == 1) | (ahead > 1) & (self.np_random.random(self.actions) < 0.5)
        obs, mask = self._state + self.actions * min(self._time, self.steps - 1), self._legal.astype(np.int8)
        if self.mask == "obs":
            return {"observation": obs, "action_mask": mask}, {}
        return obs, {"action_mask": mask}


class Walk(gymnasium.Env):
    """Random walk on places 0 to length + 1, started in the middle. Action 0 moves left and 1 right, with probability
    `slip` the other way. Both ends terminate, and the right one gives 1. P is the transition model, as in toy_text.

    By chance alone the value of place i is i / (length + 1); by going right it is
    (1 - r^i) / (1 - r^(length + 1)) with r = slip / (1 - slip), and gamma^(length - i) where slip is 0."""

    action_space = Discrete(2)

    def __init__(self, length: int = 5, slip: float = 0.25, limit: int = 100) -> None:
        if length < 1 or not 0 <= slip < 1:
            raise ValueError(
                tr(
                    "length is {length} and slip is {slip}; they can be 1 or more, and 0 to below 1",
                    length=length,
                    slip=slip,
                )
            )
        self.length, self.slip, self.limit = length, slip, limit
        self.observation_space = Discrete(length + 2)
        self.P = {place: {action: self._outcomes(place, action) for action in (0, 1)} for place in range(length + 2)}

    def expert(self, obs: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        """Returns the best actions: right, or left where a step leads the other way more often."""
        return np.full(len(obs), int(self.slip <= 0.5))

    def _outcomes(self, place: int, action: int) -> list[tuple[float, int, float, bool]]:
        """Returns (probability, next place, reward, terminated) of each outcome; both ends are absorbing."""
        last = self.length + 1
        if place in (0, last):
            return [(1.0, place, 0.0, True)]
        chances = {2 * action - 1: 1.0 - self.slip, 1 - 2 * action: self.slip}
        moves = [(chance, place + by) for by, chance in chances.items() if chance]
        return [(chance, to, float(to == last), to in (0, last)) for chance, to in moves]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._place, self._time = (self.length + 1) // 2, 0
        return self._place, {}

    def step(self, action: Any) -> Outcome:
        outcomes = self.P[self._place][int(action)]
        chosen = self.np_random.choice(len(outcomes), p=[outcome[0] for outcome in outcomes])
        _, self._place, reward, terminated = outcomes[chosen]
        self._time += 1
        return self._place, reward, terminated, self._time == self.limit and not terminated, {}


class StochasticMDP(gymnasium.Env):
    """The discrete stochastic decision process of Kulkarni et al. (2016): states s1 to s6 are the observations 0 to 5,
    and an episode begins in s2. Action 0 moves left; action 1 moves right with probability 1/2, and else left. s1
    terminates, with reward 1 if s6 was visited, and else 0.01.

    From s2, s6 is reached before s1 with probability 1/5 at best: the best return is 0.2 + 0.8 * 0.01 = 0.208."""

    observation_space, action_space = Discrete(6), Discrete(2)

    def __init__(self, limit: int = 100) -> None:
        if limit < 1:
            raise ValueError(tr("limit is {limit}; at least 1 is needed", limit=limit))
        self.limit = limit

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._place, self._time, self._visited = 1, 0, False
        return self._place, {}

    def step(self, action: Any) -> Outcome:
        right = int(action) == 1 and self.np_random.random() < 0.5
        self._place = min(self._place + 1, 5) if right else self._place - 1
        self._visited |= self._place == 5
        self._time += 1
        ended = self._place == 0
        reward = (1.0 if self._visited else 0.01) if ended else 0.0
        return self._place, reward, ended, self._time == self.limit and not ended, {}


class DeepSea(gymnasium.Env):
    """The deep sea of Osband et al. (2020): a square of cells, entered at the top left, and left after `size` steps,
    each of which goes one row down and one column to the left or to the right. Which of two actions goes right is drawn
    for each cell by the number `layout`. A step to the right costs 0.01 / size, and the last one from the right end
    gives 1.

    The observation is size * row + column. By going right always the best return is 0.99; one of 2^size random episodes
    does so, and every other return is 0 or less."""

    action_space = Discrete(2)

    def __init__(self, size: int = 15, layout: int = 0) -> None:
        if size < 2:
            raise ValueError(tr("size is {size}; at least 2 is needed", size=size))
        self.size = size
        self.observation_space = Discrete(size * size)
        self._right = np.random.default_rng(layout).integers(2, size=(size, size))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._row = self._column = 0
        return 0, {}

    def step(self, action: Any) -> Outcome:
        last, right = self.size - 1, int(action) == self._right[self._row, self._column]
        reward = -0.01 / self.size if right else 0.0
        ended = self._row == last
        if ended and right and self._column == last:
            reward += 1.0
        self._row, self._column = min(self._row + 1, last), min(max(self._column + (1 if right else -1), 0), last)
        return self.size * self._row + self._column, reward, ended, False, {}
