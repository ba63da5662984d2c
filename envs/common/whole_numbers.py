"""Observations of spaces of whole numbers, and parts of observations: a number that a space does not have would be
another state in silence."""

from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from config.tell.language import tr
from envs.base import Array
from envs.common.array_spaces import Leaf

_TYPES = (int, np.int64)
"""Types of most observations of Discrete spaces."""


class WholeNumbers:
    """The numbers that an encoded observation may have."""

    def __init__(self, space: Space, own: Space, start: Any) -> None:
        """space: of encoded observations, which begin at 0. own: the environment's, whose numbers begin at `start`."""
        self.space, self.own, self.start = space, own, start
        self._count = int(space.n) if isinstance(space, Discrete) else 0
        self._least, self._most = _limits(space)

    def checked(self, obs: Any) -> Any:
        """Returns an encoded observation of one row or of N rows. Raises ValueError if it is none of the space."""
        if type(obs) in _TYPES and 0 <= obs < self._count:
            return obs
        array, shape = np.asarray(obs), self.space.shape or ()
        if array.shape[array.ndim - len(shape) :] != shape:
            raise ValueError(
                tr("the observation has shape {shape}, and its space has {expected}", shape=array.shape, expected=shape)
            )
        if array.dtype == self.space.dtype and isinstance(self.space, Box):
            return obs
        if (
            array.dtype.kind not in "biuf"
            or not ((array >= self._least) & (array <= self._most) & (array == np.floor(array))).all()
        ):
            own = array + self.start if array.dtype.kind in "biuf" else obs
            raise ValueError(tr("the observation {obs} is none of {space}", obs=own, space=self.own))
        return obs


def vector(leaf: Leaf, obs: Any, batch: tuple[int, ...], dtype: Any) -> Array:
    """Returns a part of observations as [*batch, width], for an array of this type; Discrete and MultiDiscrete are
    one-hot. Raises ValueError for a part that is none of its space."""
    value = reduce(getitem, leaf.path, obs)
    try:
        return _vector(leaf.space, value, (*batch, leaf.stop - leaf.start), dtype)
    except ValueError as error:
        raise ValueError(tr("the part {part!r} of the observation {fault}", part=leaf.name, fault=error)) from None


def _vector(space: Space, value: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Returns a part in this shape. Raises ValueError with the end of a sentence."""
    if isinstance(space, Discrete):
        return _one_hot(np.asarray(value), int(space.start), int(space.n))
    if isinstance(space, MultiDiscrete):
        digits = np.moveaxis(np.asarray(value).reshape((*shape[:-1], -1)), -1, 0)
        columns = zip(digits, space.start.ravel(), space.nvec.ravel(), strict=True)
        return np.concatenate([_one_hot(*column) for column in columns], axis=-1)
    expected = (*shape[:-1], *(space.shape or ()))
    if np.shape(value) != expected:
        raise ValueError(tr("has shape {shape}; expected {expected}", shape=np.shape(value), expected=expected))
    part = np.reshape(value, shape)
    is_whole = dtype == np.uint8 != part.dtype or isinstance(space, MultiBinary)
    if is_whole and not ((part >= 0) & (part <= _limits(space)[1]) & (part == np.floor(part))).all():
        raise ValueError(tr("is {value}, which is none of {space}", value=part, space=space))
    return part


def _one_hot(number: Array, start: int, count: int) -> Array:
    """Returns numbers [...] from `start` on as [..., count]. Raises ValueError for a number beyond them."""
    hot: Array = np.arange(start, start + count) == number[..., None]
    fits = hot.any(axis=-1)
    if not fits.all():
        value, last = number[~fits].flat[0], start + count - 1
        raise ValueError(
            tr("is {value}; expected a whole number from {first} to {last}", value=value, first=start, last=last)
        )
    return hot


def _limits(space: Space) -> tuple[Any, Any]:
    """Returns the least and the greatest numbers of a space."""
    match space:
        case Discrete():
            return 0, int(space.n) - 1
        case MultiDiscrete():
            return 0, space.nvec - 1
        case Box() if space.dtype is not None and space.dtype.kind in "iu":
            return np.iinfo(space.dtype).min, np.iinfo(space.dtype).max
    return 0, 1
