"""What an environment tells of itself besides its spaces: whether it masks actions, its goal, its rules."""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Space

from envs.base import Array, EnvError, Goal, Rules
from envs.gym.masks import Legal

_TRANSPARENT = (
    Legal,
    gymnasium.wrappers.OrderEnforcing,
    gymnasium.wrappers.PassiveEnvChecker,
    gymnasium.wrappers.RecordEpisodeStatistics,
    gymnasium.wrappers.TimeLimit,
)
"""Wrappers that leave observations, actions and rewards as they are. Under another one the bare environment would tell
something that is not true of what the agent sees."""


class Known(NamedTuple):
    """Facts that every row of an environment shares."""

    parts: tuple[tuple[str, int, int, tuple[int, ...]], ...] = ()
    masked: bool | None = None
    """None until the first reset shows it."""
    goal: Goal | None = None
    rules: Callable[[], Rules | None] = lambda: None
    """Builds the model, which costs time; only planning asks for it."""
    start: Any = 0
    """Start of the environment's own observations."""


def known_of(env: gymnasium.Env, parts: Any, masked: bool, name: str) -> Known:
    """By looking at one environment; it may be closed, but must not be changed, afterwards."""
    if not _bare(env):
        return Known(parts, masked)
    return Known(parts, masked, _goal_of(env, parts, name), lambda: _rules_of(env, name))


def _bare(env: Any) -> bool:
    while isinstance(env, gymnasium.Wrapper):
        if not isinstance(env, _TRANSPARENT):
            return False
        env = env.env
    return True


# ------------------------------------------------------------------------------------------------------- rules


def _rules_of(env: gymnasium.Env, name: str) -> Rules | None:
    """Probability, next state, reward and terminated [S, A, K] of a P[state][action] = [(probability, next state,
    reward, terminated), ...], as toy_text has it; None where there is none."""
    table, states, actions = getattr(env.unwrapped, "P", None), env.observation_space, env.action_space
    if not isinstance(table, dict | list) or not (isinstance(states, Discrete) and isinstance(actions, Discrete)):
        return None
    if states.start or actions.start:
        return None
    shape = int(states.n), int(actions.n)
    try:
        outcomes = [list(table[s][a]) for s in range(shape[0]) for a in range(shape[1])]
        most = max(map(len, outcomes))
        padded = np.array([rows + [(0.0, 0, 0.0, False)] * (most - len(rows)) for rows in outcomes], np.float64)
        columns = np.moveaxis(padded.reshape(*shape, most, 4), -1, 0)
    except (LookupError, TypeError, ValueError) as error:
        raise EnvError(
            f"{name} has rules P that cannot be read: {type(error).__name__}: {error}; P[state][action] must be a list "
            "of (probability, next state, reward, terminated)"
        ) from error
    probability, next_state, reward, terminated = columns
    if not np.allclose(probability.sum(axis=2), 1.0) or not np.isin(next_state, np.arange(shape[0])).all():
        raise EnvError(f"{name} has rules P whose probabilities do not sum to 1, or that lead to unknown states")
    return probability.copy(), next_state.astype(np.int64), reward.copy(), terminated.astype(bool)


# -------------------------------------------------------------------------------------------------------- goal


def _goal_of(env: gymnasium.Env, parts: Any, name: str) -> Goal | None:
    """Of an environment that keeps the interface of goals: a Dict observation with an achieved and a desired goal of
    one shape, and compute_reward."""
    space, core = env.observation_space, env.unwrapped
    if not isinstance(space, Dict) or not callable(getattr(core, "compute_reward", None)):
        return None
    places = {part[0]: slice(part[1], part[2]) for part in parts}
    if not {"achieved_goal", "desired_goal"} <= places.keys():
        return None
    kind = space["desired_goal"]
    if not isinstance(kind, Box | MultiBinary) or kind.shape != space["achieved_goal"].shape:
        return None
    return Goal(places["achieved_goal"], places["desired_goal"], _Judge(env, kind, name))


class _Judge:
    """Says what goals [B, G], as they stand in a flattened observation, are worth: reward [B], terminated [B]."""

    def __init__(self, env: gymnasium.Env, kind: Space, name: str) -> None:
        self._kind, self._name = kind, name
        starts = [env.reset(seed=seed)[0] for seed in (0, 1)]
        achieved, desired = ([start[key] for start in starts] for key in ("achieved_goal", "desired_goal"))
        # reached and not reached, and not as many as a goal has numbers
        many = np.stack([*achieved, *desired, achieved[0]]), np.stack([*desired, *desired, desired[1]])
        core: Any = env.unwrapped
        try:
            self._reward = _for_many(core.compute_reward, *many)
            ends = getattr(core, "compute_terminated", None)
            self._terminated = _for_many(ends, *many) if callable(ends) else lambda achieved, desired: np.False_
        except Exception as error:
            raise self._failed(error) from error

    def __call__(self, achieved: Array, desired: Array) -> tuple[Array, Array]:
        goals = self._own(achieved), self._own(desired)
        try:
            reward, terminated = self._reward(*goals), self._terminated(*goals)
        except Exception as error:
            raise self._failed(error) from error
        count = len(achieved)
        return reward.astype(np.float32), np.broadcast_to(terminated.astype(bool), count)

    def _own(self, goals: Array) -> Array:
        """In the shape and type of the environment."""
        return goals.reshape(len(goals), *(self._kind.shape or ())).astype(self._kind.dtype)

    def _failed(self, error: Exception) -> EnvError:
        return EnvError(f"{self._name} failed to judge a goal: {type(error).__name__}: {error}")


Verdict = Callable[[Array, Array], Array]


def _for_many(judge: Callable[[Any, Any, dict], Any], achieved: Array, desired: Array) -> Verdict:
    """A function of one pair of goals as one of many pairs: itself, where it gives the same for these examples, else
    in a loop."""

    def at_once(achieved: Array, desired: Array) -> Array:
        return np.asarray(judge(achieved, desired, {}))

    def in_turn(achieved: Array, desired: Array) -> Array:
        return np.array([judge(*pair, {}) for pair in zip(achieved, desired, strict=True)]).reshape(len(achieved))

    expected = in_turn(achieved, desired)
    try:
        found = at_once(achieved, desired)
    except Exception:  # it was written for one pair
        return in_turn
    return at_once if found.shape == expected.shape and np.allclose(found, expected) else in_turn
