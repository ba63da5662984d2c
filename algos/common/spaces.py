"""Finite spaces as numbers."""

from collections.abc import Callable

import numpy as np
from gymnasium import spaces

from algos.base import Array, EnvSpec


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


def actions_of(spec: EnvSpec) -> int:
    """The number of actions of a Discrete action space."""
    assert isinstance(spec.action_space, spaces.Discrete), "the config refuses other spaces"
    return int(spec.action_space.n)
