"""Samples that a memory hands to a learner."""

from typing import NamedTuple

import numpy as np

from framework.collect.fragment import Columns


class Keys(NamedTuple):
    """Identifies samples of a replay memory: their places, and serial numbers that tell if they were overwritten."""

    place: np.ndarray
    serial: np.ndarray
    policy: str = ""
    """Policy whose memory they come from; empty if there is only one."""


class Chunk(NamedTuple):
    """Samples [K, B, ...] of a replay memory (K minibatches), or a window [T, N, ...] of fresh steps."""

    columns: Columns
    """Arrays, or tensors where the device that learns has the values already."""
    keys: Keys | None = None
    fraction: float | None = None
    """Share of the planned run that was done when the collection of a window began: learning rates follow from it, so
    that the first window is learned with the full rate and the last one not with 0. None for samples of a replay
    memory, which have no such beginning."""
    arrived: Columns | None = None
    """Columns `obs` [M, ...] and, if there is one, `global_state` that a replay memory got since its last chunk; None
    if no statistics are kept."""
    policy: str = ""
    """Policy that learns from it; empty if there is only one."""
