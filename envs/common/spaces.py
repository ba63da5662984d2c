"""Conversion between gymnasium's spaces and one array per observation and action."""

from functools import reduce
from math import isfinite
from operator import getitem
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple

from config.model.composite import Composite
from envs.base import Array, Part, Step
from envs.common.array_spaces import action_space, check_numbers, flat_box, leaves_of, plain
from envs.common.whole_numbers import WholeNumbers, vector


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
        check_numbers(space)
        self._leaves = tuple(leaves_of(space)) if isinstance(space, Dict | Tuple) else ()
        self.start: Any = getattr(space, "start", 0)
        self._shifted = bool(np.any(self.start))
        choices = [leaf.space for leaf in self._leaves if isinstance(leaf.space, Discrete)]
        self._choices = 0 < len(choices) == len(self._leaves)
        if self._choices:
            self.start = np.array([choice.start for choice in choices])
            self.space: Space = MultiDiscrete([choice.n for choice in choices])
        else:
            self.space = flat_box(self._leaves) if self._leaves else plain(space)
        parts = () if self._choices else self._leaves
        self.parts = tuple(Part(leaf.name, leaf.start, leaf.stop, leaf.shape) for leaf in parts)
        self.floating = np.issubdtype(self.space.dtype, np.floating)
        self._single = isinstance(space, Box) and space.shape == ()
        """True if an observation is a number, which becomes an array of one."""
        self._whole = (lambda obs: obs) if self.floating else WholeNumbers(self.space, space, self.start).checked

    def encode(self, obs: Any) -> Any:
        """Returns an observation of one row or of N rows as one array. Raises ValueError for numbers of a space of
        whole ones that it does not have."""
        if self._choices:
            obs = np.stack([reduce(getitem, leaf.path, obs) for leaf in self._leaves], axis=-1) - self.start
        elif self._leaves:
            return self._flatten(obs)
        elif self._single:
            obs = np.asarray(obs)[..., None]
        elif self._shifted:
            obs = obs - self.start
        return self._whole(obs)

    def _flatten(self, obs: Any) -> Array:
        first = self._leaves[0]
        batch = np.shape(reduce(getitem, first.path, obs))
        batch = batch[: len(batch) - len(first.space.shape or ())]
        flat = np.empty((*batch, self._leaves[-1].stop), self.space.dtype)
        for leaf in self._leaves:
            flat[..., leaf.start : leaf.stop] = vector(leaf, obs, batch, flat.dtype)
        return flat


class Actions:
    """Decodes actions for the environment: adds the start of Discrete, casts to its dtype, makes the Tuple or Dict of a
    flat action."""

    def __init__(self, space: Space) -> None:
        self.space = action_space(space)
        self._composite = self.space if isinstance(self.space, Composite) else None
        self.start: Any = getattr(space, "start", 0) if self._composite is None else self._composite.first
        self._shifted = bool(np.any(self.start))
        self._dtype = space.dtype
        self._place = 0 if isinstance(space, Box) and space.shape == () else slice(None)
        """Place of what the environment gets of an action: a number for a Box without axes, else all of it."""

    def decode(self, action: Array) -> Array:
        """Returns actions [N, ...] in a new array, since an environment may keep or change it; for a Tuple or Dict an
        array [N] of them."""
        if self._composite is not None:
            return self._composite.decode(action)
        decoded = np.asarray(action)[..., self._place].astype(self._dtype)
        return decoded + self.start if self._shifted else decoded

    def decode_batch(self, action: Array) -> Any:
        """Returns actions [N, ...] as a vector environment of gymnasium takes them."""
        return self.decode(action) if self._composite is None else self._composite.decode_batch(action)
