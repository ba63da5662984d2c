"""Facts about an environment other than its spaces: action masks, goal interface, transition model."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Space

from config.tell.language import tr
from envs.base import Array, EnvError, Goal, Model, Part
from envs.common.masks import Legal, legal_now, mask_in
from envs.common.spaces import Actions

_TRANSPARENT = (
    Legal,
    gymnasium.wrappers.OrderEnforcing,
    gymnasium.wrappers.PassiveEnvChecker,
    gymnasium.wrappers.RecordEpisodeStatistics,
    gymnasium.wrappers.TimeLimit,
)
"""Wrappers that change no observation, action or reward. With any other wrapper, the goal and the transition model of
the unwrapped environment would not match what the agent observes."""


class EnvFacts(NamedTuple):
    """Facts shared by all rows of an environment."""

    parts: tuple[Part, ...] = ()
    masked: bool | None = None
    """True if actions are masked; None until the first reset shows it."""
    goal: Goal | None = None
    rules: Callable[[], Model | None] = lambda: None
    """Builds the transition model, which takes time and is needed for planning only."""
    start: Any = 0
    """First value of the environment's own observations."""
    mask_inside: bool = False
    """True if the environment's own observations have the mask as a part."""
    encode: Callable[[Any], Any] = np.asarray
    """Encodes an observation of the environment itself as one array."""
    metrics: tuple[str, ...] = ()
    """Names of the numbers of an episode that its last info has."""
    expert: Callable[[Array, Array | None], Array] | None = None
    """Returns the actions of a good policy; None if the environment has none."""
    frames: int = 1
    """Number of frames that an observation is a stack of."""

    def mask_of(self, obs: Any) -> Array | None:
        """Returns the mask in an observation of the environment itself; None if there is none, or it is ignored."""
        return mask_in(obs, {}) if self.mask_inside and self.masked is not False else None


class Codec:
    """The part of a VectorEnv that facts and spaces answer: its own observations and actions as those of the agent, and
    the transition model. Comes before VectorEnv."""

    observation_space: Space
    _facts: EnvFacts
    _actions: Actions

    def encode(self, obs: Any) -> Array:
        return np.asarray(self._facts.encode(obs), self.observation_space.dtype)

    def mask_of(self, obs: Any) -> Array | None:
        return self._facts.mask_of(obs)

    def legal(self, mask: Any, agent: str = "") -> Array:
        return legal_now(mask, self._actions.space)

    def decode(self, action: Array) -> Array:
        return self._actions.decode(action)

    @property
    def model(self) -> Model | None:
        return self._facts.rules()


def facts_of(env: gymnasium.Env, parts: Any, masked: bool, name: str) -> EnvFacts:
    """Returns the facts of one environment; it may be closed afterwards, but must not be changed."""
    facts = EnvFacts(parts, masked, metrics=metrics_of(env), frames=frames_of(env))
    if not _bare(env):
        return facts
    expert = getattr(env.unwrapped, "expert", None)
    return facts._replace(
        goal=_goal_of(env, parts, name),
        rules=lambda: _rules_of(env, name),
        expert=expert if callable(expert) else None,
    )


def frame_rate(env: Any) -> float:
    """Returns the frames per second that the metadata of an environment name; 30 if they name no number."""
    try:
        return float((getattr(env, "metadata", None) or {}).get("render_fps") or 30.0)
    except (TypeError, ValueError):
        return 30.0


def metrics_of(env: Any) -> tuple[str, ...]:
    """Returns the names in the attribute `metrics` of an environment. Another one of this name, which is not a tuple of
    names, has nothing to do with us."""
    inner = getattr(env, "unwrapped", env)  # which a class of several agents need not have
    names = getattr(inner, "metrics", ())
    if isinstance(names, tuple):
        return names if all(map(_is_name, names)) else ()
    listed = (names,) if isinstance(names, str) else names
    if isinstance(listed, list | tuple) and listed and all(map(_is_name, listed)):
        _tell_of_form(type(inner).__name__, repr(names), repr(tuple(listed)))
    return ()


@cache
def _tell_of_form(kind: str, names: str, form: str) -> None:
    """Says once how names that look like those of columns would be written."""
    logging.getLogger("joystick").warning(
        tr("%s.metrics is %s and makes no columns; a tuple does: metrics = %s"), kind, names, form
    )


def frames_of(env: Any) -> int:
    """Returns the number of frames that an observation is a stack of: the attribute `stack_size` of the outermost
    wrapper that has it, or of the environment itself; 1 without one."""
    while isinstance(env, gymnasium.Wrapper | gymnasium.vector.VectorWrapper) and not hasattr(env, "stack_size"):
        env = env.env
    frames = getattr(env, "stack_size", 1)
    return int(frames) if isinstance(frames, int | np.integer) and frames > 0 else 1


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.replace("/", "_").isidentifier()


def _bare(env: Any) -> bool:
    """Returns True if no wrapper changes what the agent observes."""
    while isinstance(env, gymnasium.Wrapper):
        if not isinstance(env, _TRANSPARENT):
            return False
        env = env.env
    return True


# ------------------------------------------------------------------------------------------------------- rules


def _rules_of(env: gymnasium.Env, name: str) -> Model | None:
    """Returns probability, next state, reward and terminated [S, A, K] of P[state][action] = [(probability, next state,
    reward, terminated), ...], the format of toy_text; None if the environment has no P."""
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
            "{name} has rules P that cannot be read: {kind}: {error}; P[state][action] must be a "
            "list of (probability, next state, reward, terminated)",
            name=name,
            kind=type(error).__name__,
            error=error,
        ) from error
    probability, next_state, reward, terminated = columns
    if not np.allclose(probability.sum(axis=2), 1.0) or not np.isin(next_state, np.arange(shape[0])).all():
        raise EnvError(
            "{name} has rules P whose probabilities do not sum to 1, or that lead to unknown states", name=name
        )
    return Model(probability.copy(), next_state.astype(np.int64), reward.copy(), terminated.astype(bool))


# -------------------------------------------------------------------------------------------------------- goal


def _goal_of(env: gymnasium.Env, parts: Any, name: str) -> Goal | None:
    """Returns the goal interface of an environment with a Dict observation that has an achieved and a desired goal of
    one shape, and with compute_reward; None for any other."""
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
    """Computes reward [B] and terminated [B] of pairs of flattened goals [B, G]."""

    def __init__(self, env: gymnasium.Env, kind: Space, name: str) -> None:
        self._kind, self._name = kind, name
        starts = [env.reset(seed=seed)[0] for seed in (0, 1)]
        achieved, desired = ([start[key] for start in starts] for key in ("achieved_goal", "desired_goal"))
        # achieved and missed goals; their number differs from the size of a goal, to tell a batch from one goal
        many = np.stack([*achieved, *desired, achieved[0]]), np.stack([*desired, *desired, desired[1]])
        core: Any = env.unwrapped
        try:
            self._reward = _for_many(core.compute_reward, *many)
            ends = getattr(core, "compute_terminated", None)
            self._terminated = _for_many(ends, *many) if callable(ends) else lambda achieved, desired: np.False_
        except Exception as error:
            raise self._failed(error) from error

    def __call__(self, achieved: Array, desired: Array) -> tuple[Array, Array]:
        goals = self._native(achieved), self._native(desired)
        try:
            reward, terminated = self._reward(*goals), self._terminated(*goals)
        except Exception as error:
            raise self._failed(error) from error
        count = len(achieved)
        return reward.astype(np.float32), np.broadcast_to(terminated.astype(bool), count)

    def _native(self, goals: Array) -> Array:
        """Returns goals in the shape and dtype of the environment."""
        return goals.reshape(len(goals), *(self._kind.shape or ())).astype(self._kind.dtype)

    def _failed(self, error: Exception) -> EnvError:
        return EnvError(
            "{name} failed in compute_reward: {kind}: {error}", name=self._name, kind=type(error).__name__, error=error
        )


Verdict = Callable[[Array, Array], Array]


def _for_many(judge: Callable[[Any, Any, dict], Any], achieved: Array, desired: Array) -> Verdict:
    """Returns a batched version of a function of one pair of goals: the function itself if it gives the same results
    for these examples, else a loop."""

    def at_once(achieved: Array, desired: Array) -> Array:
        return np.asarray(judge(achieved, desired, {}))

    def in_turn(achieved: Array, desired: Array) -> Array:
        return np.array([judge(*pair, {}) for pair in zip(achieved, desired, strict=True)]).reshape(len(achieved))

    expected = in_turn(achieved, desired)
    try:
        batched = at_once(achieved, desired)
    except Exception:  # the function accepts a single pair only
        return in_turn
    return at_once if batched.shape == expected.shape and np.allclose(batched, expected) else in_turn
