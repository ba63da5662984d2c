"""Samples that a memory hands to a learner."""

from typing import NamedTuple

import numpy as np

from framework.fragment import Columns


class Keys(NamedTuple):
    """Identifies samples of a replay memory: their places, and serial numbers that tell if they were overwritten."""

    place: np.ndarray
    serial: np.ndarray


class Chunk(NamedTuple):
    """Samples [K, B, ...] of a replay memory (K minibatches), or a window [T, N, ...] of fresh steps."""

    columns: Columns
    keys: Keys | None = None
