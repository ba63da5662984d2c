"""Uniformly random actions."""

from collections.abc import Callable

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from algos.base import Act, Array, Explore, UnfitError
from algos.common.maths.exploration import epsilon_greedy
from algos.common.parts.acting import ActingAgent, Weightless
from config.model.composite import Composite, choices_of


class Agent(Weightless, ActingAgent):
    """Draws actions; has no weights."""

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Without a generator, returns the first legal actions, and the middle of a Box."""
        space = self.spec.action_space
        return Act(fixed(space, len(obs), mask) if explore is None else drawn(space, len(obs), explore.rng, mask))

    def evaluate_action(
        self, obs: Array, state: Array | None, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        """Returns random actions: in an evaluation, too, the opponent is random."""
        return Act(drawn(self.spec.action_space, len(obs), rng, mask))


def drawn(space: Space, rows: int, rng: np.random.Generator, mask: Array | None) -> Array:
    """Returns random actions [rows, ...] of a space, the legal ones of a mask [rows, A]. Numbers without bounds are
    normal, those with one bound exponential, as gymnasium draws them."""
    match space:
        case Composite():
            flat = _of_parts(space, lambda part: drawn(part, rows, rng, None))
            return flat if mask is None else _legal(space, flat, mask, rng)
        case Discrete():
            return epsilon_greedy(np.zeros((rows, int(space.n))), 1.0, rng, mask) + space.start
        case MultiDiscrete():
            whole = rng.integers(space.nvec, size=(rows, *space.nvec.shape))
            return (whole if mask is None else _legal(space, whole, mask, rng)) + space.start
        case MultiBinary():
            bits = rng.integers(2, size=(rows, *space.shape), dtype=np.int8)
            return bits if mask is None else _legal(space, bits, mask, rng)
        case Box() if space.dtype.kind == "f":
            return _in_box(space, rows, rng)
    raise UnfitError(
        "Random draws from Discrete, MultiDiscrete, MultiBinary, float Box, and Tuple and Dict of them, not from "
        "{space}",
        space=space,
    )


def _of_parts(space: Composite, actions: Callable[[Space], Array]) -> Array:
    """Returns the actions of the parts [rows, ...] as flat ones."""
    parts = [actions(part.space) for part in space.parts]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1, dtype=np.float32)


def _legal(space: Space, action: Array, mask: Array, rng: np.random.Generator) -> Array:
    """Returns actions whose whole numbers are drawn from the legal values of a mask."""
    choices, flat = choices_of(space), action.reshape(len(action), -1).copy()
    for column, first, size in zip(choices.column, choices.first, choices.size, strict=True):
        flat[:, column] = epsilon_greedy(np.zeros((len(flat), size)), 1.0, rng, mask[:, first : first + size])
    return flat.reshape(action.shape)


def _in_box(space: Box, rows: int, rng: np.random.Generator) -> Array:
    """Returns random points of a Box. Draws the same amount of randomness whatever its bounds are."""
    size = (rows, *space.shape)
    uniform, normal, distance = rng.random(size), rng.standard_normal(size), rng.standard_exponential(size)
    low, high = (np.where(np.isfinite(bound), bound, 0.0).astype(np.float64) for bound in (space.low, space.high))
    one_bound = np.where(space.bounded_below, low + distance, np.where(space.bounded_above, high - distance, normal))
    both = space.bounded_below & space.bounded_above
    return np.where(both, low + uniform * (high - low), one_bound).astype(space.dtype)


def fixed(space: Space, rows: int, mask: Array | None) -> Array:
    """Returns the same actions [rows, ...] of a space every time: the first legal ones, or the middle of a Box; 0 as
    far as it has no bounds."""
    match space:
        case Composite():
            flat = _of_parts(space, lambda part: fixed(part, rows, None))
            return flat if mask is None else space.choices.amended(flat, mask)
        case Discrete() if mask is not None:
            return mask.argmax(1) + space.start
        case MultiDiscrete() | MultiBinary() if mask is not None:
            flat = np.zeros((rows, len(choices_of(space).column)), space.dtype)
            return choices_of(space).amended(flat, mask).reshape(rows, *space.shape) + getattr(space, "start", 0)
        case Discrete() | MultiDiscrete():
            first = np.zeros_like(space.nvec) if isinstance(space, MultiDiscrete) else np.int64(0)
            return np.repeat((first + space.start)[None], rows, axis=0)
        case Box():
            low, high = space.low.astype(np.float64), space.high.astype(np.float64)
            both = space.bounded_below & space.bounded_above
            middle = np.where(both, np.where(both, low, 0) / 2 + np.where(both, high, 0) / 2, np.clip(0.0, low, high))
            return np.repeat(middle.astype(space.dtype)[None], rows, axis=0)
    return np.zeros((rows, *(space.shape or ())), space.dtype)
