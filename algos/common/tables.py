"""Finite spaces as row and column numbers of a table."""

from collections.abc import Callable

import numpy as np
from gymnasium import spaces

from algos.base import Array


def actions_of(space: spaces.Space) -> int:
    """The number of actions of a Discrete space."""
    if not isinstance(space, spaces.Discrete):
        raise ValueError(f"{space} is not Discrete: it has no table or list of action values")
    return int(space.n)


def states_of(space: spaces.Space) -> tuple[Callable[[Array], Array], int]:
    """(observations [N, ...] -> state numbers [N], number of states)."""
    if isinstance(space, spaces.Discrete):
        return lambda obs: obs, int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        sizes = np.asarray(space.nvec, np.int64).reshape(-1)
    elif isinstance(space, spaces.MultiBinary):
        sizes = np.full(int(np.prod(space.shape)), 2, np.int64)
    else:
        raise ValueError(f"{space} has no numbered states: it is not Discrete, MultiDiscrete or MultiBinary")
    strides = np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]])
    return lambda obs: obs.reshape(len(obs), -1).astype(np.int64) @ strides, int(sizes.prod())
