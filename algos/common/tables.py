"""Finite observation spaces as row numbers of a table."""

from collections.abc import Callable

import numpy as np
from gymnasium import spaces

from algos.base import Array


def states_of(space: spaces.Space) -> tuple[Callable[[Array], Array], int]:
    """(observations [N, ...] -> state numbers [N], number of states)."""
    if isinstance(space, spaces.Discrete):
        return lambda obs: obs, int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        sizes = np.asarray(space.nvec, np.int64).reshape(-1)
    else:
        sizes = np.full(int(np.prod(space.shape or (1,))), 2, np.int64)
    strides = np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]])
    return lambda obs: obs.reshape(len(obs), -1).astype(np.int64) @ strides, int(sizes.prod())
