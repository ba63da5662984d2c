"""Rows of gymnasium's classic control tasks: all rows are one step of arrays.

The numbers are those of the scalar environments to the bit, so that the choice between both never changes a result. A
formula keeps the order of operations of the scalar one for that reason.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import pendulum
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from envs.base import Array

Moved = tuple[Array, Array | bool]
"""Rewards [N] and terminated [N] of a step."""


class Rows(ABC):
    """N rows of one task, as gymnasium's vector environments have them; a masked reset starts episodes, each from its
    own seed."""

    SETTINGS: ClassVar[tuple[str, ...]] = ()
    """Arguments of the scalar environment that the step knows."""
    LEAST: ClassVar[int] = 4
    """Number of rows from which arrays are faster than a loop; a measured one, which no number depends on."""

    def __init__(self, scalar: gymnasium.Env, rows: int) -> None:
        """scalar: an environment of the task, whose settings and spaces the rows get."""
        self.num_envs = rows
        self.scalar: Any = scalar.unwrapped
        self.metadata = {**scalar.metadata, "autoreset_mode": AutoresetMode.DISABLED}
        self.single_observation_space, self.single_action_space = scalar.observation_space, scalar.action_space
        self.unwrapped, self.render_mode = self, None
        limit = scalar.spec.max_episode_steps if scalar.spec else None
        self.limit = self.line(math.inf if limit is None else limit)
        """Number [N] of steps after which an episode is truncated."""
        self.steps = np.zeros(rows)
        self.ones = np.ones(rows)
        self.state = np.zeros((self.size, rows))
        """[K, N], a line for each number of the scalar environment's state."""

    size: ClassVar[int] = 2

    def line(self, value: float) -> Array:
        """Returns a number of the task [N], once for each row: with it an operation on a few rows takes half as long as
        with Python's number."""
        return np.full(self.num_envs, value)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        mask = options["reset_mask"] if options else np.ones(self.num_envs, bool)
        seeds: Sequence[int | None] = seed if isinstance(seed, list | tuple) else [seed] * self.num_envs
        for row in np.flatnonzero(mask).tolist():
            self.state[:, row] = self.start(seeding.np_random(seeds[row])[0])
        self.steps[mask] = 0
        return self.observed(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        reward, terminated = self.move(actions)
        self.steps += self.ones
        ended = terminated if isinstance(terminated, np.ndarray) else np.full(self.num_envs, terminated)
        return self.observed(), reward, ended, self.steps >= self.limit, {}

    def close(self) -> None:
        """Closes the scalar environment."""
        self.scalar.close()

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Array:
        """Returns the state [K] in which an episode starts."""

    @abstractmethod
    def move(self, actions: Array) -> Moved:
        """Moves all rows."""

    @abstractmethod
    def observed(self) -> Array:
        """Returns the observations [N, ...] of the present states."""


class CartPole(Rows):
    """Position and velocity of the cart, angle and angular velocity of the pole."""

    SETTINGS = ("sutton_barto_reward",)
    size = 4
    _lines: ClassVar[Array] = np.array([1, 1, 3, 3])

    def __init__(self, scalar: gymnasium.Env, rows: int) -> None:
        super().__init__(scalar, rows)
        env = self.scalar
        self._force = np.array([-env.force_mag, env.force_mag])
        """Force of each action."""
        self._tau, self._gravity, self._four_thirds = self.line(env.tau), self.line(env.gravity), self.line(4.0 / 3.0)
        self._total, self._pole, self._length = map(self.line, (env.total_mass, env.masspole, env.length))
        self._moment = self.line(env.polemass_length)
        limits = env.x_threshold, math.inf, env.theta_threshold_radians, math.inf
        self._limits = np.stack([self.line(limit) for limit in limits])

    def start(self, rng: np.random.Generator) -> Array:
        return rng.uniform(low=-0.05, high=0.05, size=(4,))

    def move(self, actions: Array) -> Moved:
        total, moment, angle = self._total, self._moment, self.state[2]
        cos, sin = np.cos(angle), np.sin(angle)
        rate = self.state.take(self._lines, 0)
        _, speed_up, turn, turn_up = rate  # the second and the last line become the accelerations
        push = (self._force.take(actions) + moment * (turn * turn) * sin) / total
        inertia = self._length * (self._four_thirds - self._pole * (cos * cos) / total)
        np.divide(self._gravity * sin - cos * push, inertia, out=turn_up)
        np.subtract(push, moment * turn_up * cos / total, out=speed_up)
        rate *= self._tau
        self.state = self.state + rate
        beyond = np.abs(self.state) > self._limits
        fallen = beyond[0] | beyond[2]
        return np.where(fallen, -1.0, 0.0) if self.scalar._sutton_barto_reward else self.ones, fallen

    def observed(self) -> Array:
        return self.state.T.astype(np.float32)


class Pendulum(Rows):
    """Angle and angular velocity."""

    SETTINGS = ("g",)

    def __init__(self, scalar: gymnasium.Env, rows: int) -> None:
        super().__init__(scalar, rows)
        env = self.scalar
        self._dt, self._tenth, self._gravity = self.line(env.dt), self.line(0.1), self.line(3 * env.g / (2 * env.l))
        self._fastest, self._slowest = self.line(env.max_speed), self.line(-env.max_speed)
        self._lever = 3.0 / (env.m * env.l**2)
        """Python's number: its product with a torque of float32 is of float32."""

    def start(self, rng: np.random.Generator) -> Array:
        high = np.array([pendulum.DEFAULT_X, pendulum.DEFAULT_Y])
        return rng.uniform(low=-high, high=high)

    def move(self, actions: Array) -> Moved:
        env = self.scalar
        angle, velocity = self.state
        torque = np.maximum(np.minimum(actions[:, 0], env.max_torque), -env.max_torque)
        pulled = np.array([value**2 for value in torque], torque.dtype)  # of float32, which _square would make double
        costs = _square(pendulum.angle_normalize(angle)) + self._tenth * _square(velocity) + 0.001 * pulled
        faster = velocity + (self._gravity * np.sin(angle) + self._lever * torque) * self._dt
        velocity = np.maximum(np.minimum(faster, self._fastest), self._slowest)
        self.state = np.array([angle + velocity * self._dt, velocity])
        return -costs, False

    def observed(self) -> Array:
        angle, velocity = self.state
        return np.array([np.cos(angle), np.sin(angle), velocity], np.float32).T


class MountainCar(Rows):
    """Position and velocity."""

    SETTINGS = ("goal_velocity",)

    def __init__(self, scalar: gymnasium.Env, rows: int) -> None:
        super().__init__(scalar, rows)
        env = self.scalar
        self._force = np.array([-1, 0, 1]) * env.force
        """Force of each action."""
        self._gravity, self._three, self._still = map(self.line, (-env.gravity, 3.0, 0.0))
        self._fastest, self._slowest = self.line(env.max_speed), self.line(-env.max_speed)
        self._left, self._right = self.line(env.min_position), self.line(env.max_position)
        self._goal, self._goal_velocity = self.line(env.goal_position), self.line(env.goal_velocity)

    def start(self, rng: np.random.Generator) -> Array:
        return np.array([rng.uniform(low=-0.6, high=-0.4), 0])

    def move(self, actions: Array) -> Moved:
        position, velocity = self.state
        slope = np.array([math.cos(x) for x in (self._three * position).tolist()])  # numpy's has other last bits
        velocity = velocity + (self._force.take(actions) + slope * self._gravity)
        velocity = np.maximum(np.minimum(velocity, self._fastest), self._slowest)
        position = np.maximum(np.minimum(position + velocity, self._right), self._left)
        stopped = (position == self._left) & (velocity < self._still)
        velocity = np.where(stopped, self._still, velocity)
        self.state = np.array([position, velocity])
        return -self.ones, (position >= self._goal) & (velocity >= self._goal_velocity)

    def observed(self) -> Array:
        return self.state.T.astype(np.float32)


class Acrobot(Rows):
    """Two angles and their velocities."""

    LEAST = 8
    size = 4

    def start(self, rng: np.random.Generator) -> Array:
        return rng.uniform(low=-0.1, high=0.1, size=(4,)).astype(np.float32)

    def move(self, actions: Array) -> Moved:
        env = self.scalar
        torque = np.array(env.AVAIL_TORQUE)[actions]
        before = np.concatenate([self.state, torque[None]])
        dt = env.dt
        k1 = self._slope(before)
        k2 = self._slope(before + dt / 2.0 * k1)
        k3 = self._slope(before + dt / 2.0 * k2)
        k4 = self._slope(before + dt * k3)
        upper, lower, fast_upper, fast_lower, _ = before + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        self.state = np.stack(
            [
                _wrapped(upper),
                _wrapped(lower),
                np.clip(fast_upper, -env.MAX_VEL_1, env.MAX_VEL_1),
                np.clip(fast_lower, -env.MAX_VEL_2, env.MAX_VEL_2),
            ]
        )
        up = -np.cos(self.state[0]) - np.cos(self.state[1] + self.state[0]) > 1.0
        return np.where(up, 0.0, -1.0), up

    def _slope(self, state: Array) -> Array:
        """Returns the derivatives [5, N] of angles, velocities and torque [5, N] (Sutton and Barto's book)."""
        env = self.scalar
        m1, m2, l1 = env.LINK_MASS_1, env.LINK_MASS_2, env.LINK_LENGTH_1
        lc1, lc2, moment, g = env.LINK_COM_POS_1, env.LINK_COM_POS_2, env.LINK_MOI, 9.8
        upper, lower, fast_upper, fast_lower, torque = state
        cos_lower, sin_lower = np.cos(lower), np.sin(lower)
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cos_lower) + moment + moment
        d2 = m2 * (lc2**2 + l1 * lc2 * cos_lower) + moment
        phi2 = m2 * lc2 * g * np.cos(upper + lower - np.pi / 2.0)
        phi1 = (
            -m2 * l1 * lc2 * _square(fast_lower) * sin_lower
            - 2 * m2 * l1 * lc2 * fast_lower * fast_upper * sin_lower
            + (m1 * lc1 + m2 * l1) * g * np.cos(upper - np.pi / 2)
            + phi2
        )
        faster_lower = (torque + d2 / d1 * phi1 - m2 * l1 * lc2 * _square(fast_upper) * sin_lower - phi2) / (
            m2 * lc2**2 + moment - _square(d2) / d1
        )
        faster_upper = -(d2 * faster_lower + phi1) / d1
        return np.stack([fast_upper, fast_lower, faster_upper, faster_lower, np.zeros_like(torque)])

    def observed(self) -> Array:
        upper, lower, fast_upper, fast_lower = self.state
        parts = [np.cos(upper), np.sin(upper), np.cos(lower), np.sin(lower), fast_upper, fast_lower]
        return np.stack(parts, 1).astype(np.float32)


def _square(values: Array) -> Array:
    """Returns the squares as Python and numpy's scalars compute them: values**2 of an array has other last bits."""
    return np.float_power(values, 2.0)


def _wrapped(angle: Array) -> Array:
    """Returns angles within -pi..pi."""
    while (high := angle > np.pi).any():
        angle = np.where(high, angle - 2 * np.pi, angle)
    while (low := angle < -np.pi).any():
        angle = np.where(low, angle + 2 * np.pi, angle)
    return angle


_FOLDER = "gymnasium.envs.classic_control"
ROWS: dict[str, type[Rows]] = {
    f"{_FOLDER}.acrobot:AcrobotEnv": Acrobot,
    f"{_FOLDER}.cartpole:CartPoleEnv": CartPole,
    f"{_FOLDER}.mountain_car:MountainCarEnv": MountainCar,
    f"{_FOLDER}.pendulum:PendulumEnv": Pendulum,
}
"""Entry point of a scalar environment -> its rows."""
