"""Wrappers for images and frames, and the names of all wrappers that a config may use."""

import inspect
from collections import deque
from typing import Annotated, Any, get_type_hints

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, MultiDiscrete, Tuple
from pydantic import Field, TypeAdapter

from config.model.fields import Int, PositiveInt
from config.own import objects as own
from config.tell.language import tr
from envs.base import Array

Count = Annotated[Int, Field(ge=0)]
HeightAndWidth = Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]

MOST_CHANNELS = 4
"""Number of channels of the images that are resized: red, green, blue and alpha."""
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in perceived brightness (ITU-R BT.601)."""


class FrameStack(gymnasium.ObservationWrapper):
    """Stacks the last observations: images [k, H, W] or [k * C, H, W], vectors [k * D]."""

    def __init__(self, env: gymnasium.Env, stack_size: PositiveInt = 4) -> None:
        super().__init__(env)
        space = _box(env, "FrameStack")
        self.stack_size = stack_size
        self._frames: deque[Array] = deque(maxlen=stack_size)
        low, high = (self._join([self._first(bound)] * stack_size) for bound in (space.low, space.high))
        self.observation_space = Box(low, high, dtype=space.dtype.type)

    def reset(self, **kwargs: Any) -> tuple[Array, dict[str, Any]]:
        self._frames.clear()
        return super().reset(**kwargs)

    def observation(self, observation: Array) -> Array:
        frame = self._first(np.array(observation))
        self._frames.append(frame)
        while len(self._frames) < (self._frames.maxlen or 1):
            self._frames.append(frame)
        return self._join(list(self._frames))

    @staticmethod
    def _first(frame: Array) -> Array:
        """Moves channels first: [H, W] to [1, H, W], [H, W, C] to [C, H, W]; others are unchanged."""
        if frame.ndim == 2:
            return frame[None]
        if frame.ndim == 3 and frame.shape[2] in (1, 3, 4) and frame.shape[2] <= frame.shape[0]:
            return frame.transpose(2, 0, 1)
        return frame

    @staticmethod
    def _join(frames: list[Array]) -> Array:
        return np.concatenate(frames, axis=0)


class SelectObservation(gymnasium.ObservationWrapper):
    """Selects entries of a vector, such as positions without velocities, which makes a recurrent policy necessary."""

    def __init__(self, env: gymnasium.Env, indices: list[Count]) -> None:
        super().__init__(env)
        space = _box(env, "SelectObservation")
        wrong = [index for index in indices if not 0 <= index < space.shape[0]] if len(space.shape) == 1 else indices
        if wrong or not indices:
            raise ValueError(
                tr(
                    "SelectObservation needs indices of a vector; got {indices} for {space}",
                    indices=indices,
                    space=space,
                )
            )
        self._indices = list(indices)
        self.observation_space = Box(space.low[indices], space.high[indices], dtype=space.dtype.type)

    def observation(self, observation: Array) -> Array:
        return observation[self._indices]


class PartOfObservation(gymnasium.ObservationWrapper):
    """Observes one part of a Dict, such as the image of {"image": ..., "compass": ...}."""

    def __init__(self, env: gymnasium.Env, part: str) -> None:
        super().__init__(env)
        parts = getattr(env.observation_space, "spaces", {})
        if not isinstance(parts, dict) or part not in parts:
            names = ", ".join(map(str, parts)) or tr("none")
            raise ValueError(tr("PartOfObservation: there is no part {part!r}; parts: {names}", part=part, names=names))
        self._part = part
        self.observation_space = parts[part]

    def observation(self, observation: Any) -> Any:
        return observation[self._part]


class WidenBounds(gymnasium.Wrapper):
    """Removes the bounds of a vector of floats whose space has narrower ones than the observations."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        space = _box(env, "WidenBounds")
        if not np.issubdtype(space.dtype, np.floating):
            raise ValueError(
                tr("WidenBounds needs observations of a floating type, and the environment has {space}", space=space)
            )
        self.observation_space = Box(-np.inf, np.inf, space.shape, space.dtype.type)


class AsArrays(gymnasium.ObservationWrapper):
    """Returns observations as arrays of their space, where the environment returns lists or another type of number."""

    def observation(self, observation: Any) -> Any:
        return _as_arrays(self.observation_space, observation)


class GrayScale(gymnasium.ObservationWrapper):
    """Converts a color image to brightness: [H, W, 3] to [H, W], uint8."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        space = _box(env, "GrayScale")
        if space.dtype != np.uint8 or len(space.shape) != 3 or space.shape[2] != 3:
            raise ValueError(
                tr(
                    "GrayScale needs uint8 images of shape (height, width, 3), and the environment has {space}",
                    space=space,
                )
            )
        self.observation_space = Box(0, 255, space.shape[:2], np.uint8)

    def observation(self, observation: Array) -> Array:
        return np.rint(observation @ LUMA).astype(np.uint8)


class Resize(gymnasium.ObservationWrapper):
    """Resizes images [H, W] or [H, W, C], uint8; each pixel is the mean of the area that it covers."""

    def __init__(self, env: gymnasium.Env, shape: PositiveInt | HeightAndWidth = 84) -> None:
        super().__init__(env)
        space = _box(env, "Resize")
        if space.dtype != np.uint8 or len(space.shape) not in (2, 3) or space.shape[2:] > (MOST_CHANNELS,):
            raise ValueError(
                tr(
                    "Resize needs uint8 images, (height, width) or with up to {most} channels last; got {space}. "
                    "FrameStack comes after it in env_cfg.wrappers",
                    most=MOST_CHANNELS,
                    space=space,
                )
            )
        self._size = (shape, shape) if isinstance(shape, int) else (int(shape[0]), int(shape[1]))
        self.observation_space = Box(0, 255, (*self._size, *space.shape[2:]), np.uint8)

    def observation(self, observation: Array) -> Array:
        from PIL import Image

        image = observation[..., 0] if observation.shape[2:] == (1,) else observation
        height, width = self._size
        small = np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BOX))
        return small.reshape(self.observation_space.shape)


class MaxAndSkip(gymnasium.Wrapper):
    """Repeats each action for some frames: sums rewards, observes the maximum of the last two frames."""

    def __init__(self, env: gymnasium.Env, skip: PositiveInt = 4) -> None:
        super().__init__(env)
        _at_least_one(self, skip)
        self._skip = skip

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        total, before = 0.0, None
        for i in range(self._skip):
            obs, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
            if i == self._skip - 2:
                before = np.array(obs)
        return (obs if before is None else np.maximum(before, obs)), total, terminated, truncated, info


def _at_least_one(wrapper: gymnasium.Wrapper, skip: int) -> None:
    """Raises ValueError for actions that would be taken for no frame."""
    if skip < 1:
        name = type(wrapper).__name__
        raise ValueError(tr("{name}: skip is {skip}; an action is taken for at least one frame", name=name, skip=skip))


class SkipFrame(gymnasium.Wrapper):
    """Repeats each action for some frames: sums rewards, observes the last frame."""

    def __init__(self, env: gymnasium.Env, skip: PositiveInt = 4) -> None:
        super().__init__(env)
        _at_least_one(self, skip)
        self._skip = skip

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        total = 0.0
        for _ in range(self._skip):
            obs, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return obs, total, terminated, truncated, info


class NoopReset(gymnasium.Wrapper):
    """Takes 1 to `noop_max` steps with action 0 after a reset; the number follows from the episode's seed."""

    def __init__(self, env: gymnasium.Env, noop_max: Count = 30) -> None:
        super().__init__(env)
        self._most = noop_max

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**kwargs)
        count = int(self.unwrapped.np_random.integers(1, self._most + 1)) if self._most > 0 else 0
        for _ in range(count):
            obs, _, terminated, truncated, info = self.env.step(0)
            if terminated or truncated:
                obs, info = self.env.reset()
        return obs, info


class FireReset(gymnasium.Wrapper):
    """Presses FIRE after a reset, in Atari games that wait for it."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**kwargs)
        meanings: list[str] = getattr(self.unwrapped, "get_action_meanings", lambda: [])()
        if "FIRE" in meanings:
            obs, _, terminated, truncated, info = self.env.step(meanings.index("FIRE"))
            if terminated or truncated:
                obs, info = self.env.reset()
        return obs, info


class SignReward(gymnasium.RewardWrapper):
    """Replaces the reward by its sign: -1, 0 or 1. Scores are then counted in signs too; see reward_clip."""

    def reward(self, reward: Any) -> float:
        return float(np.sign(reward))


class WarpFrame(gymnasium.ObservationWrapper):
    """Combines GrayScale and Resize: [H, W, 3] to [height, width], uint8."""

    def __init__(self, env: gymnasium.Env, width: PositiveInt = 84, height: PositiveInt = 84) -> None:
        super().__init__(env)
        gray = GrayScale(env)
        self._steps = (gray, Resize(gray, [height, width]))
        self.observation_space = self._steps[-1].observation_space

    def observation(self, observation: Array) -> Array:
        for step in self._steps:
            observation = step.observation(observation)
        return observation


OURS: dict[str, type[gymnasium.Wrapper]] = {
    kind.__name__: kind
    for kind in (
        FrameStack, SelectObservation, PartOfObservation, AsArrays, WidenBounds, GrayScale, Resize, MaxAndSkip,
        SkipFrame, NoopReset, FireReset, SignReward, WarpFrame,
    )
}  # fmt: skip
ALIASES: dict[str, type[gymnasium.Wrapper]] = {
    "Noop": NoopReset,
    "BaseSkipFrame": SkipFrame,
    "CarV2SkipFrame": SkipFrame,
    "FrameStack2Numpy": FrameStack,
}
"""JoyRL's names of wrappers -> ours."""
REFUSED = {
    "NormalizeObservation": tr("its statistics would not be saved with the model; use algo_cfg.normalize_obs: true"),
    "NormalizeReward": tr("its statistics would not be saved with the model; use a reward setting of the algorithm"),
    "Autoreset": tr("episodes are started by the collector"),
    "RecordVideo": tr("use env_cfg.render_mode: rgb_array, which writes videos/video.gif"),
    "RenderCollection": tr("use env_cfg.render_mode: rgb_array, which writes videos/video.gif"),
    "AtariWrapper": tr("ALE environments include it with env_cfg.vectorization: native"),
    "HumanRendering": tr("use env_cfg.render_mode: human"),
    "AddRenderObservation": tr(
        "rows that train draw no pictures; write a function that returns "
        'AddRenderObservation(gymnasium.make(ID, render_mode="rgb_array")), and name it: --env my_module:function'
    ),
}
"""Wrappers of gymnasium that would break a guarantee, or cannot work here -> what to use instead."""


def names() -> list[str]:
    """Returns every wrapper name that a config may use."""
    theirs = (name for name in gymnasium.wrappers.__all__ if name[0].isupper() and name not in REFUSED)
    return [*theirs, *OURS, *ALIASES]


def find(name: str) -> type[gymnasium.Wrapper]:
    """Returns the class of one of `names`, or one of the user's own; a config can reach no other class."""
    if own.is_own(name):
        mine = own.find(name)
        if not (isinstance(mine, type) and issubclass(mine, gymnasium.Wrapper)):
            raise ValueError(tr("{name} is not a class that inherits from gymnasium.Wrapper", name=name))
        for refused, why in REFUSED.items():
            if mine is getattr(gymnasium.wrappers, refused, None):
                raise ValueError(tr("{name} cannot be used: {reason}", name=refused, reason=why))
        return mine
    if name not in names():
        raise ValueError(tr("there is no wrapper {name!r}", name=name))
    kind: type[gymnasium.Wrapper] = OURS.get(name) or ALIASES.get(name) or getattr(gymnasium.wrappers, name)
    return kind


def split(entry: str | dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns name and settings of an entry of the config."""
    if isinstance(entry, str):
        return entry, {}
    return str(entry.get("wrapper_name")), {key: value for key, value in entry.items() if key != "wrapper_name"}


def wrap(env: gymnasium.Env, entries: list[str | dict[str, Any]] | None) -> gymnasium.Env:
    """Returns the environment with its wrappers, the first one innermost."""
    for entry in entries or []:
        name, settings = split(entry)
        kind = find(name)
        env = kind(env, **arguments(kind, settings))
        if "env" not in vars(env):
            raise ValueError(tr("__init__ of {name} has to begin with super().__init__(env)", name=name))
    return env


def arguments(kind: type[gymnasium.Wrapper], settings: dict[str, Any]) -> dict[str, Any]:
    """Returns settings as a wrapper takes them: a list, which is what YAML can say, is a tuple where the annotation of
    the parameter has tuples and no lists. Raises pydantic's ValidationError for a setting of ours that is wrong."""
    if kind in OURS.values():
        return {key: adapter(kind, key).validate_python(value, strict=True) for key, value in settings.items()}
    parameters = {parameter.name: str(parameter.annotation).lower() for parameter in own.parameters_of(kind) or ()}
    tuples = {name for name, annotation in parameters.items() if "tuple" in annotation and "list" not in annotation}
    return {
        key: tuple(value) if key in tuples and isinstance(value, list) else value for key, value in settings.items()
    }


def adapter(kind: type[gymnasium.Wrapper], key: str) -> TypeAdapter[Any]:
    """Returns what checks a setting of one of our wrappers."""
    return TypeAdapter(get_type_hints(kind.__init__, include_extras=True)[key])


def _as_arrays(space: gymnasium.Space, value: Any) -> Any:
    """Returns a value of a space with arrays of the space's type."""
    if isinstance(space, Dict):
        return {key: _as_arrays(part, value[key]) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(_as_arrays(part, value[index]) for index, part in enumerate(space.spaces))
    return np.asarray(value, space.dtype) if isinstance(space, Box | MultiBinary | MultiDiscrete) else value


def _box(env: gymnasium.Env, name: str) -> Box:
    if not isinstance(env.observation_space, Box):
        raise ValueError(
            tr(
                "{name} needs observations in a Box space, and the environment has {space}",
                name=name,
                space=env.observation_space,
            )
        )
    return env.observation_space


def explain(name: str) -> str:
    """Returns a wrapper's settings and the first paragraph of its help."""
    kind = find(name)
    parameters = list(inspect.signature(kind).parameters.values())[1:]
    if kind in OURS.values():  # without their bounds
        types = get_type_hints(kind.__init__)
        parameters = [parameter.replace(annotation=types[parameter.name]) for parameter in parameters]
    taken = [str(parameter) for parameter in parameters]
    help_text = tr(" ".join((kind.__doc__ or "").strip().split("\n\n")[0].split()))
    use = tr("{name}: a wrapper, for env_cfg.wrappers: [{{wrapper_name: {name}, ...}}]", name=name)
    listed = tr("settings: {names}", names=", ".join(taken) or tr("none"))
    return f"{use}\n{help_text}\n{listed}\n"
