"""Compares data with the spaces of an environment."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from config.model.composite import Composite, choices_of
from config.tell.language import tr
from framework.dataset.summary import Range, Summary

TOLERANCE = 1e-4
"""Share of a bound by which a value may be beyond it: files hold rounded numbers."""


def problems(summary: Summary, observation_space: Space, action_space: Space) -> list[str]:
    """Returns a sentence for each way in which the data cannot come from an environment with these spaces. The spaces
    are the environment's own: Discrete(3, start=5) has the values 5, 6 and 7."""
    seen = [*_problems(summary, "obs", summary.obs, observation_space)]
    return [
        *(seen or _problems(summary, "next_obs", summary.next_obs, observation_space)),
        *_problems(summary, "action", summary.action, action_space),
        *_problems_of_masks(summary.mask, action_space),
    ]


def own_space(space: Space, start: Any) -> Space:
    """Returns the environment's own space of one whose values were shifted to begin at 0."""
    if isinstance(space, Discrete):
        return Discrete(int(space.n), start=int(start))
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec, dtype=space.dtype, start=space.start + start)
    return space.own() if isinstance(space, Composite) else space


def _problems(summary: Summary, name: str, values: Range, space: Space) -> Iterator[str]:
    shape = space.shape or ()
    if values.shape != shape:
        yield tr(
            "{name} has the shape {shape}; the environment has {space}, of shape {space_shape}",
            name=name,
            shape=values.shape,
            space=space,
            space_shape=shape,
        )
        return
    is_whole = isinstance(space, Discrete | MultiDiscrete | MultiBinary) or (
        isinstance(space, Box) and space.dtype is not None and space.dtype.kind in "iu"
    )
    if is_whole and not values.whole:
        yield tr(
            "{name} is {dtype}; the environment has {space}, of whole numbers",
            name=name,
            dtype=values.dtype,
            space=space,
        )
        return
    if isinstance(space, Box) and space.dtype is not None and space.dtype.kind == "f" and values.dtype.kind == "b":
        yield tr(
            "{name} is {dtype}; the environment has {space}, of {space_dtype}",
            name=name,
            dtype=values.dtype,
            space=space,
            space_dtype=space.dtype,
        )
        return
    if (bounds := _bounds(space)) is not None:
        yield from _beyond(summary, name, values, *bounds, str(space))


def _problems_of_masks(size: int, space: Space) -> Iterator[str]:
    if size and size != choices_of(space).entries:
        yield tr("action_mask is for {count} actions; the environment has {space}", count=size, space=space)


def _bounds(space: Space) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns lowest and highest values of the parts of a space in one row; None if it is not known."""
    match space:
        case Discrete():
            return np.array([space.start]), np.array([space.start + space.n - 1])
        case MultiDiscrete():
            return space.start.reshape(-1), (space.start + space.nvec - 1).reshape(-1)
        case MultiBinary():
            size = int(np.prod(space.shape))
            return np.zeros(size), np.ones(size)
        case Box() | Composite():
            low, high = space.low.reshape(-1), space.high.reshape(-1)
            if low.dtype.kind != "f":
                return low, high
            limits = np.finfo(low.dtype)  # a wider float in a file would be infinite
            return np.maximum(low, limits.min), np.minimum(high, limits.max)
    return None


_BELOW = tr("{name} of {where} is {value}, below {bound}; the environment has {space}")
_ABOVE = tr("{name} of {where} is {value}, above {bound}; the environment has {space}")


def _beyond(summary: Summary, name: str, values: Range, low: np.ndarray, high: np.ndarray, space: str) -> Iterator[str]:
    """Yields the value that is farthest below, and the one that is farthest above."""
    with np.errstate(over="ignore", invalid="ignore"):
        below = low.astype(np.float64) - values.low.astype(np.float64) - _slack(low)
        above = values.high.astype(np.float64) - high.astype(np.float64) - _slack(high)
    for excess, extremes, at, bound, sentence in (
        (below, values.low, values.low_at, low, _BELOW),
        (above, values.high, values.high_at, high, _ABOVE),
    ):
        excess = np.where(np.isnan(excess), -1, excess)
        if excess.max(initial=-1) > 0:
            part = int(excess.argmax())
            place = f"[{', '.join(map(str, np.unravel_index(part, values.shape)))}]" if values.shape else ""
            where = summary.where(int(at[part]))
            yield sentence.format(name=name + place, where=where, value=extremes[part], bound=bound[part], space=space)


def _slack(bound: np.ndarray) -> np.ndarray:
    if bound.dtype.kind != "f":
        return np.zeros(bound.shape)
    return np.where(np.isfinite(bound), TOLERANCE * np.maximum(1, np.abs(bound, dtype=np.float64)), 0.0)
