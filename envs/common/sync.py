"""Rows of a scalar environment, stepped in turn in this process."""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import cloudpickle
import gymnasium
import numpy as np

from config.tell.language import tr
from envs.base import Array, EnvError, Step, VectorEnv
from envs.common import masks
from envs.common.error_text import described, short
from envs.common.facts import Codec, EnvFacts, frame_rate
from envs.common.spaces import Actions, Observations, empty_step, finite


class Row(gymnasium.Wrapper):
    """One environment whose observations are one array, and whose errors name the place."""

    def __init__(self, env: gymnasium.Env, name: str, number: int) -> None:
        super().__init__(env)
        self.name, self.number = name, number
        self._codec = Observations(env.observation_space)
        self._encode, self._shape = self._codec.encode, self._codec.space.shape
        self._array = self._codec.floating
        self.observation_space = self._codec.space
        self._fresh_world = _keeps_world(env)
        self._seed: int | None = None
        self._steps = 0

    @property
    def spaces(self) -> tuple[gymnasium.Space, gymnasium.Space]:
        """Spaces of observations, as the environment has them, and of actions."""
        return self.env.observation_space, self.env.action_space

    @property
    def parts(self) -> Any:
        return self._codec.parts

    @property
    def start(self) -> Any:
        return self._codec.start

    @property
    def encode(self) -> Callable[[Any], Any]:
        return self._encode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._seed, self._steps = seed, 0
        try:
            if self._fresh_world:
                _new_world(self.env.unwrapped)
            obs, info = self.env.reset(seed=seed)
            return self._checked(obs), info
        except (Exception, SystemExit) as error:  # the latter would end the process of a row without a word
            raise self._failed("reset", error) from error

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._steps += 1
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
            if not isfinite(reward):
                raise ValueError(tr("the reward is {reward}", reward=reward))
            return self._checked(obs), reward, terminated, truncated, info
        except (Exception, SystemExit) as error:
            raise self._failed(
                tr("step {number}", number=self._steps), error, tr("; action {action}", action=short(action))
            ) from error

    def render(self) -> Any:
        try:
            return self.env.render()
        except (Exception, SystemExit) as error:
            raise self._failed("render", error) from error

    def close(self) -> None:
        try:
            self.env.close()
        except (Exception, SystemExit) as error:
            raise self._failed("close", error) from error

    def visit(self, function: bytes, mask: Array) -> bytes | None:
        """Calls a function with the innermost environment and its row, if the mask has this row. Returns result and
        error as bytes: an error here would end the process of the row."""
        if not mask[self.number]:
            return None
        try:
            return _as_bytes(cloudpickle.loads(function)(self.env.unwrapped, self.number), None)
        except Exception as error:
            return _as_bytes(None, error)

    def _checked(self, obs: Any) -> Any:
        """Returns the observation as one array; a wrong shape or a NaN is an error, not broadcast or learned from."""
        obs = self._encode(obs)
        if self._array and getattr(obs, "shape", None) != self._shape:
            if not isinstance(obs, np.ndarray):
                raise ValueError(tr("the observation is no array: {obs}", obs=short(repr(obs))))
            raise ValueError(
                tr(
                    "the observation has shape {shape}, and its space has {expected}",
                    shape=obs.shape,
                    expected=self._shape,
                )
            )
        if self._array and not finite(obs):
            raise ValueError(tr("the observation is not finite: {obs}", obs=short(obs)))
        return obs

    def _failed(self, where: str, error: BaseException, more: str = "") -> EnvError:
        facts = {"name": self.name, "call": where, "row": self.number, "error": described(error)}
        if self._seed is None:  # never reset: it was closed after a look at its spaces
            return EnvError("{name} failed in {call} of row {row}: {error}", **facts)
        return EnvError(
            "{name} failed in {call} of row {row}: {error} (seed of the episode {seed}{more})",
            **facts,
            seed=self._seed,
            more=more,
        )


class SyncVector(Codec, VectorEnv):
    """Rows that are stepped in turn, written into one set of arrays."""

    def __init__(self, rows: list[Row], facts: EnvFacts) -> None:
        self.rows = len(rows)
        self.observation_space, self.parts, self.goal = rows[0].observation_space, facts.parts, facts.goal
        self._actions = Actions(rows[0].action_space)
        self.action_space = self._actions.space
        self.observation_start, self.action_start = facts.start, self._actions.start
        self.metrics, self.expert, self.frames = facts.metrics, facts.expert, facts.frames
        self.render_fps = frame_rate(rows[0])
        self._rows, self._facts = rows, facts
        silent = {masks.KEY: np.ones(masks.count(self.action_space), bool)} if facts.masked else {}
        self._infos: list[dict[str, Any]] = [silent for _ in rows]
        self._step = empty_step(self.observation_space, self.rows)
        self._obs = self._step.obs.copy()
        self._ended = [True] * self.rows
        self._stepped: Sequence[int] = range(self.rows)

    def only(self, active: Array) -> None:
        """Makes the next steps step the rows of this mask [N]. The others make dummy steps, and keep what they have."""
        self._stepped, self.valid = np.flatnonzero(active).tolist(), active.copy()
        self._step.reward[:], self._step.terminated[:], self._step.truncated[:] = 0.0, False, False
        self._step.obs[:] = self._obs

    def reset(self, mask: Array, seeds: Array) -> Array:
        obs = self._obs.copy()  # the arrays of the last step stay as they are
        for i in np.flatnonzero(mask):
            obs[i], self._infos[i] = self._rows[i].reset(seed=int(seeds[i]))
            self._ended[i] = False
        self._obs = obs
        if self._facts.masked:
            self._look_at_masks()
        return obs.copy()

    def step(self, action: Array) -> Step:
        if True in self._ended:
            raise RuntimeError(tr("row {row} has ended: reset it before the next step", row=self._ended.index(True)))
        actions = self._actions.decode(action)
        obs, reward, terminated, truncated = out = self._step
        rows, infos, ended = self._rows, self._infos, self._ended
        for i in self._stepped:
            obs[i], reward[i], terminal, cut, infos[i] = rows[i].step(actions[i])
            terminated[i], truncated[i], ended[i] = terminal, cut, bool(terminal or cut)
        self._obs = obs
        if self.action_mask is not None:
            self._look_at_masks()
        return out

    def _look_at_masks(self) -> None:
        self.action_mask = np.array([info[masks.KEY] for info in self._infos])

    def member(self, row: int) -> Any:
        return self._rows[row].env

    def each(self, function: Callable[[Any, int], Any], mask: Array) -> list[Any]:
        return [function(self._rows[i].env.unwrapped, i) for i in np.flatnonzero(mask).tolist()]

    def info(self, row: int) -> dict[str, Any]:
        return self._infos[row]

    def render(self, row: int = 0) -> Array | None:
        if self._rows[row].render_mode != "rgb_array":
            return None
        return np.asarray(self._rows[row].render())

    def text(self, row: int = 0) -> str | None:
        return str(self._rows[row].render()) if self._rows[row].render_mode == "text" else None

    def close(self) -> None:
        failures = []
        for row in self._rows:
            try:
                row.close()
            except EnvError as error:
                failures.append(error)
        if failures:
            raise failures[0]


def _as_bytes(result: Any, error: Exception | None) -> bytes:
    """Returns result and error as bytes; an error in words if one of them cannot be sent."""
    try:
        answer: bytes = cloudpickle.dumps((result, error))
        cloudpickle.loads(answer)
        return answer
    except Exception as fault:
        unsent = tr("a result of type {kind} cannot be sent: {fault}", kind=type(result).__name__, fault=fault)
        text = unsent if error is None else f"{type(error).__name__}: {error}"
        answer = cloudpickle.dumps((None, EnvError(text)))
        return answer


def _keeps_world(env: gymnasium.Env) -> bool:
    """Returns True for BipedalWalker, which keeps its physics world over resets: episodes would not be independent."""
    return any(base.__module__ == "gymnasium.envs.box2d.bipedal_walker" for base in type(env.unwrapped).__mro__)


def _new_world(env: Any) -> None:
    env._destroy()
    env.world = type(env.world)()
