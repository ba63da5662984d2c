"""Toys of several agents with known answers, with the interface of envs.several.multi_agent."""

from collections.abc import Iterator
from math import cos, pi, sin
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.utils.seeding import np_random

from config.tell.language import tr
from envs.several.roster import ALL

Values = dict[str, Any]
Outcome = tuple[Values, Values, Values, Values, Values]


Cart = tuple[float, float, float, float]
"""Position, speed, angle of the pole, angular speed."""


class Several:
    """Agents with constant spaces."""

    def __init__(self, spaces: dict[str, tuple[Space, Space]]) -> None:
        self.spaces = spaces
        """Observation space and action space of each agent."""
        self.possible_agents = list(spaces)

    def observation_space(self, agent: str) -> Space:
        return self.spaces[agent][0]

    def action_space(self, agent: str) -> Space:
        return self.spaces[agent][1]


class TwoStepGame(Several):
    """The two-step game of QMIX (Rashid et al., 2018): in the first step agent_0 chooses the branch, the second step
    pays both agents together by their actions, 7 in branch 0 and [[0, 1], [1, 8]] in branch 1. The best return is 8;
    a sum of values of the single agents leads to 7. Observations and state() are the state, one-hot: start, branch 0,
    branch 1, end."""

    PAYS: ClassVar = (((7.0, 7.0), (7.0, 7.0)), ((0.0, 1.0), (1.0, 8.0)))

    def __init__(self) -> None:
        super().__init__({f"agent_{number}": (Box(0, 1, (4,)), Discrete(2)) for number in range(2)})

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        self._place = 0
        return self._seen(), {}

    def step(self, actions: Values) -> Outcome:
        first, second = (int(actions[agent]) for agent in self.possible_agents)
        end = self._place > 0
        pay = self.PAYS[self._place - 1][first][second] if end else 0.0
        self._place = 3 if end else 1 + first
        rewards = dict.fromkeys(self.possible_agents, pay / 2)
        return self._seen(), rewards, {ALL: end}, {ALL: False}, {}

    def state(self) -> np.ndarray:
        return np.eye(4, dtype=np.float32)[self._place]

    def _seen(self) -> Values:
        return {agent: self.state() for agent in self.possible_agents}


class Scripted(Several):
    """Agents that enter and leave at fixed times, whatever they do. At time t, p observes t and gets t; q observes
    10 + t and gets 10; r observes 20 + t and gets -t, from its second observation on. p acts from 0 to 5; q acts at 0
    and 1 and terminates at 2; r acts from 3 to 5. At 6 the episode terminates, and r is truncated. The return is
    21 + 20 - 15 = 26."""

    END = 6

    def __init__(self) -> None:
        super().__init__({agent: (Box(0, 30, (1,)), Discrete(2)) for agent in ("p", "q", "r")})

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        self._time = 0
        return self._seen(), {}

    def step(self, actions: Values) -> Outcome:
        self._time = time = self._time + 1
        rewards = {"p": float(time)}
        if time <= 2:
            rewards["q"] = 10.0
        if time > 3:
            rewards["r"] = -float(time)
        return self._seen(), rewards, {"q": time == 2, ALL: time == self.END}, {"r": time == self.END, ALL: False}, {}

    def _seen(self) -> Values:
        times = {"p": (0, 6), "q": (0, 2), "r": (3, 6)}
        present = [agent for agent, (first, last) in times.items() if first <= self._time <= last]
        return {agent: np.array([10 * "pqr".index(agent) + self._time], np.float32) for agent in present}


class Traffic(Several):
    """Cars that leave at random times, and lights that act at every third step. A car observes -1 or 1, drawn at each
    step, and how many cars are left; action 0 or 1 of the same sign gives 1, the other 0. A light observes which of
    its two queues is longer; it gets 1 at every step while its latest action names the queue that was longer then,
    else 0. The best return of a car is the number of its steps, that of a light `steps`. The episode is truncated
    after `steps` steps."""

    def __init__(self, cars: int = 20, lights: int = 5, steps: int = 30, leave: float = 0.05) -> None:
        if cars < 1 or lights < 1 or steps < 1 or not 0 <= leave <= 1:
            raise ValueError(tr("cars, lights and steps can be 1 or more, leave from 0 to 1"))
        self.cars, self.lights = [f"car_{n}" for n in range(cars)], [f"light_{n}" for n in range(lights)]
        self.steps, self.leave = steps, leave
        spaces: dict[str, tuple[Space, Space]] = {car: (Box(-1, 1, (2,)), Discrete(2)) for car in self.cars}
        super().__init__({**spaces, **{light: (Box(-1, 1, (1,)), Discrete(2)) for light in self.lights}})

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        self._rng, _ = np_random(seed)
        self._time, self._left = 0, list(self.cars)
        self._pays = dict.fromkeys(self.lights, 0.0)
        self._draw()
        return self._seen(self._left), {}

    def step(self, actions: Values) -> Outcome:
        pays = {car: float(int(actions[car]) == (self._signs[car] > 0)) for car in self._left}
        if self._time % 3 == 0:
            self._pays = {light: float(int(actions[light]) == (self._signs[light] > 0)) for light in self.lights}
        pays.update(self._pays)
        self._time += 1
        there = self._left
        gone = self._rng.random(len(there)) < self.leave
        self._left = [car for car, leaves in zip(there, gone, strict=True) if not leaves]
        self._draw()
        ends = {car: True for car, leaves in zip(there, gone, strict=True) if leaves}
        return self._seen(there), pays, {**ends, ALL: False}, {ALL: self._time == self.steps}, {}

    def _draw(self) -> None:
        names = [*self.cars, *self.lights]
        signs = self._rng.choice(np.array([-1.0, 1.0], np.float32), len(names))
        self._signs = dict(zip(names, signs, strict=True))

    def _seen(self, cars: list[str]) -> Values:
        share = len(self._left) / len(self.cars)
        seen = {car: np.array([self._signs[car], share], np.float32) for car in cars}
        if self._time % 3 == 0:
            seen.update({light: np.array([self._signs[light]], np.float32) for light in self.lights})
        return seen


class Poles(Several):
    """CartPoles side by side, with gymnasium's CartPole-v1 for each agent: 1 for each step, `limit` steps at most. A
    pole that falls ends its agent; the episode ends with the last one. The best return is poles * limit."""

    def __init__(self, poles: int = 2, limit: int = 500) -> None:
        if poles < 1 or limit < 1:
            raise ValueError(
                tr("poles is {poles} and limit is {limit}; both can be 1 or more", poles=poles, limit=limit)
            )
        high = np.array([4.8, np.inf, 24 * np.pi / 180, np.inf], np.float32)
        super().__init__({f"pole_{n}": (Box(-high, high), Discrete(2)) for n in range(poles)})
        self.limit = limit

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        states = np_random(seed)[0].uniform(-0.05, 0.05, (len(self.possible_agents), 4)).tolist()
        self._carts: dict[str, Cart] = dict(zip(self.possible_agents, map(tuple, states), strict=True))
        self._time = 0
        return self._seen(), {}

    def step(self, actions: Values) -> Outcome:
        self._carts = {agent: moved(*cart, bool(actions[agent])) for agent, cart in self._carts.items()}
        self._time += 1
        seen, rewards = self._seen(), dict.fromkeys(self._carts, 1.0)
        fallen = {agent: fell(*cart) for agent, cart in self._carts.items()}
        cut = dict.fromkeys(self._carts, self._time == self.limit)
        self._carts = {agent: cart for agent, cart in self._carts.items() if not fallen[agent]}
        return seen, rewards, fallen, cut, {}

    def _seen(self) -> Values:
        return {agent: np.array(cart, np.float32) for agent, cart in self._carts.items()}


def moved(place: float, speed: float, angle: float, turn: float, right: bool) -> Cart:
    """Returns the state of a cart that has been pushed for 0.02 seconds. Masses: pole 0.1, both 1.1; half length of the
    pole 0.5; gravity 9.8."""
    sine, cosine = sin(angle), cos(angle)
    push = ((10.0 if right else -10.0) + 0.05 * turn * turn * sine) / 1.1
    turning = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
    moving = push - 0.05 * turning * cosine / 1.1
    return place + 0.02 * speed, speed + 0.02 * moving, angle + 0.02 * turn, turn + 0.02 * turning


def fell(place: float, speed: float, angle: float, turn: float) -> bool:
    """Returns True if the pole leans by more than 12 degrees, or the cart is more than 2.4 from the middle."""
    return abs(place) > 2.4 or abs(angle) > 12 * pi / 180


class Levels(Several):
    """Two levels, three rounds. At the start of a round high_level observes a target and chooses a goal; a new agent
    (low_level_0, low_level_1, low_level_2) observes this goal and acts four times. Each action that equals the goal
    gives the low level 1, and a goal that equals the target gives the high level 1 when the round is over. The best
    return is 3 * (4 + 1) = 15."""

    ROUNDS, STEPS = 3, 4
    max_agents: ClassVar = {"low_level_*": 1}

    def __init__(self) -> None:
        super().__init__({"high_level": (Box(0, 1, (3,)), Discrete(3)), "low_level_0": (Box(0, 1, (3,)), Discrete(3))})

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Values, Values]:
        self._targets: Iterator[int] = iter(np_random(seed)[0].integers(3, size=self.ROUNDS + 1).tolist())
        self._round, self._left, self._target = 0, 0, next(self._targets)
        return {"high_level": _one_hot(self._target)}, {}

    def step(self, actions: Values) -> Outcome:
        low = f"low_level_{self._round}"
        if not self._left:
            self._goal, self._left = int(actions["high_level"]), self.STEPS
            return {low: _one_hot(self._goal)}, {}, {ALL: False}, {ALL: False}, {}
        self._left -= 1
        seen, rewards = {low: _one_hot(self._goal)}, {low: float(int(actions[low]) == self._goal)}
        if self._left:
            return seen, rewards, {ALL: False}, {ALL: False}, {}
        rewards["high_level"] = float(self._goal == self._target)
        self._target = next(self._targets)
        seen["high_level"] = _one_hot(self._target)
        self._round += 1
        return seen, rewards, {low: True, ALL: self._round == self.ROUNDS}, {ALL: False}, {}


def _one_hot(number: int) -> np.ndarray:
    return np.eye(3, dtype=np.float32)[number]


SEVERAL: dict[str, type[Several]] = {
    "two_step_game": TwoStepGame,
    "scripted": Scripted,
    "traffic": Traffic,
    "poles": Poles,
    "levels": Levels,
}
