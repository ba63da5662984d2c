"""Conversion between gymnasium's spaces and one array per observation and action."""

from collections.abc import Iterator
from functools import reduce
from math import isfinite
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from config.model.composite import Composite, leaves
from config.tell.language import tr
from envs.base import Array, EnvError, Part, Step

ENCODE = tr(
    "Encode it as a Box, in a program with gymnasium.wrappers.TransformObservation(env, function, Box(...)), in a YAML "
    "file with a wrapper of your own: env_cfg.wrappers: [{wrapper}]",
    wrapper="{wrapper_name: my_module:MyWrapper}",
)
"""Remedy for observations of Text, Graph and Sequence."""


class Leaf(NamedTuple):
    """One part of a Dict or Tuple space, and its position in the flat vector."""

    path: tuple[Any, ...]
    space: Space
    start: int
    stop: int

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.shape if isinstance(self.space, Box | MultiBinary) else (self.stop - self.start,)


def finite(array: Array) -> bool:
    """Returns True if no value is NaN or infinite. The product can overflow, hence the second test."""
    return isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def empty_step(space: Space, rows: int) -> Step:
    """Returns zeroed arrays for one step."""
    obs = np.zeros((rows, *(space.shape or ())), space.dtype)
    return Step(obs, np.zeros(rows, np.float32), np.zeros(rows, bool), np.zeros(rows, bool))


class Observations:
    """Encodes an observation as one array: flattens Dict and Tuple, shifts Discrete to start at 0. A Dict or Tuple of
    Discrete parts only becomes MultiDiscrete."""

    def __init__(self, space: Space) -> None:
        self._source = space
        self._leaves = tuple(_leaves(space)) if isinstance(space, Dict | Tuple) else ()
        self.start: Any = getattr(space, "start", 0)
        self._shifted = bool(np.any(self.start))
        choices = [leaf.space for leaf in self._leaves if isinstance(leaf.space, Discrete)]
        self._choices = 0 < len(choices) == len(self._leaves)
        if self._choices:
            self.start = np.array([choice.start for choice in choices])
            self.space: Space = MultiDiscrete([choice.n for choice in choices])
        else:
            self.space = _flat_box(self._leaves) if self._leaves else _plain(space)
        parts = () if self._choices else self._leaves
        self.parts = tuple(Part(leaf.name, leaf.start, leaf.stop, leaf.shape) for leaf in parts)
        self.floating = np.issubdtype(self.space.dtype, np.floating)
        self._single = isinstance(space, Box) and space.shape == ()
        """True if an observation is a number, which becomes an array of one."""

    def encode(self, obs: Any) -> Any:
        """Returns an observation of one row or of N rows as one array."""
        if self._choices:
            return np.stack([_pick(obs, leaf.path) for leaf in self._leaves], axis=-1) - self.start
        if self._leaves:
            return self._flatten(obs)
        if self._single:
            return np.asarray(obs)[..., None]
        return obs - self.start if self._shifted else obs

    def _flatten(self, obs: Any) -> Array:
        first = self._leaves[0]
        batch = np.shape(_pick(obs, first.path))
        batch = batch[: len(batch) - len(first.space.shape or ())]
        flat = np.empty((*batch, self._leaves[-1].stop), self.space.dtype)
        for path, space, start, stop in self._leaves:
            flat[..., start:stop] = _vector(space, _pick(obs, path), batch)
        return flat


class Actions:
    """Decodes actions for the environment: adds the start of Discrete, casts to its dtype, makes the Tuple or Dict of a
    flat action."""

    def __init__(self, space: Space) -> None:
        self.space = _plain_action(space)
        self._composite = self.space if isinstance(self.space, Composite) else None
        self.start: Any = getattr(space, "start", 0) if self._composite is None else self._composite.first
        self._shifted = bool(np.any(self.start))
        self._dtype = space.dtype

    def decode(self, action: Array) -> Array:
        """Returns actions [N, ...] in a new array, since an environment may keep or change it; for a Tuple or Dict an
        array [N] of them."""
        if self._composite is not None:
            return self._composite.decode(action)
        decoded = np.asarray(action).astype(self._dtype)
        return decoded + self.start if self._shifted else decoded

    def decode_batch(self, action: Array) -> Any:
        """Returns actions [N, ...] as a vector environment of gymnasium takes them."""
        return self.decode(action) if self._composite is None else self._composite.decode_batch(action)


def _pick(obs: Any, path: tuple[Any, ...]) -> Any:
    return reduce(getitem, path, obs)


def _leaves(space: Space) -> Iterator[Leaf]:
    """Yields the parts of a Dict or Tuple space in the order of gymnasium.spaces.flatten."""
    parts, start = list(leaves(space)), 0
    _check_parts(parts)
    for path, part in parts:
        stop = start + _width(part)
        yield Leaf(path, part, start, stop)
        start = stop


def _check_parts(parts: list[tuple[tuple[Any, ...], Space]]) -> None:
    """Raises EnvError for parts that cannot be learned from, such as text, with the wrapper that removes them."""
    wrong = [(path, part) for path, part in parts if not isinstance(part, Box | Discrete | MultiDiscrete | MultiBinary)]
    if not wrong:
        return
    (path, part), removed = wrong[0], {path[0] for path, _ in wrong}
    names = dict.fromkeys(str(path[0]) for path, _ in parts if path[0] not in removed)
    wrapper = f"{{wrapper_name: FilterObservation, filter_keys: [{', '.join(names)}]}}"
    raise EnvError(
        tr(
            "the part {path!r} of the observation is a {kind} space; Box, Discrete, MultiDiscrete and "
            "MultiBinary can be learned from. {remedy}",
            path=".".join(map(str, path)),
            kind=type(part).__name__,
            remedy=tr("Leave it out with env_cfg.wrappers: [{wrapper}]", wrapper=wrapper) if names else ENCODE,
        )
    )


def _width(space: Space) -> int:
    """Returns the numbers that a part takes in the flat vector."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiDiscrete):
        return int(space.nvec.sum())
    return int(np.prod(space.shape or ()))


def _flat_box(leaves: tuple[Leaf, ...]) -> Box:
    images = all(isinstance(leaf.space, Box) and leaf.space.dtype == np.uint8 for leaf in leaves)
    dtype: Any = np.uint8 if images else np.float32
    bounds = [
        (np.ravel(leaf.space.low), np.ravel(leaf.space.high))
        if isinstance(leaf.space, Box)
        else (np.zeros(leaf.stop - leaf.start), np.ones(leaf.stop - leaf.start))
        for leaf in leaves
    ]
    low: Any
    high: Any
    low, high = (np.concatenate(side).astype(dtype) for side in zip(*bounds, strict=True))
    return Box(low, high, dtype=dtype)


def _vector(space: Space, value: Any, batch: tuple[int, ...]) -> Array:
    """Returns a part as [*batch, width]; Discrete and MultiDiscrete are one-hot."""
    if isinstance(space, Discrete):
        return _one_hot(np.asarray(value) - space.start, int(space.n))
    if isinstance(space, MultiDiscrete):
        digits = np.moveaxis((np.asarray(value) - space.start).reshape((*batch, -1)), -1, 0)
        return np.concatenate([_one_hot(*pair) for pair in zip(digits, space.nvec.ravel(), strict=True)], axis=-1)
    return np.reshape(value, (*batch, -1))


def _one_hot(index: Array, width: int) -> Array:
    return np.arange(width) == np.asarray(index)[..., None]


def _plain(space: Space) -> Space:
    """Returns the encoded space: float32 or uint8 for Box, integers from 0 for the others."""
    if isinstance(space, Box):
        dtype: Any = np.uint8 if space.dtype == np.uint8 else np.float32
        shape = space.shape or (1,)
        low: Any
        high: Any
        low, high = (np.broadcast_to(bound, shape).astype(dtype) for bound in (space.low, space.high))
        return Box(low, high, dtype=dtype)
    if isinstance(space, Discrete):
        return Discrete(int(space.n))
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec)
    if isinstance(space, MultiBinary):
        return space
    raise EnvError(
        tr(
            "the observation is a {kind} space; Box, Discrete, MultiDiscrete, MultiBinary, Dict and "
            "Tuple can be learned from. {remedy}",
            kind=type(space).__name__,
            remedy=ENCODE,
        )
    )


MOST_VALUES = 2**24
"""Number of values of a whole number in a flat action, up to which float32 holds all of them."""


def _plain_action(space: Space) -> Space:
    parts = list(leaves(space))
    for path, part in parts:
        if _is_choosable(part):
            continue
        named = tr("the part {path!r} of {space}", path=".".join(map(str, path)), space=space) if path else space
        raise EnvError(
            tr(
                "actions of {space} cannot be chosen; Discrete, MultiDiscrete, MultiBinary and Box of a "
                "floating type can, alone and in a Tuple or Dict. Change the action space in the environment or with "
                "a wrapper, such as gymnasium.wrappers.TransformAction.",
                space=named,
            )
        )
    if not isinstance(space, Dict | Tuple):
        return _plain(space)
    if not parts:
        raise EnvError(tr("the action space {space} has no parts: there is nothing to choose", space=space))
    composite = Composite(space)
    if composite.choices.size.max(initial=0) > MOST_VALUES:
        raise EnvError(
            tr(
                "a part of the actions {space} has more than {limit:,} values, and at most so many can be told apart",
                space=space,
                limit=MOST_VALUES,
            )
        )
    return composite


def _is_choosable(space: Space) -> bool:
    if isinstance(space, Box):
        return np.issubdtype(space.dtype, np.floating)
    return isinstance(space, Discrete | MultiDiscrete | MultiBinary)
