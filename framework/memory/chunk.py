"""What a memory hands to a learner."""

from typing import NamedTuple

import numpy as np

from framework.fragment import Columns

MOST_AT_ONCE = 64
"""Minibatches of one chunk: enough that drawing them costs little, few enough to stay small."""


class Keys(NamedTuple):
    """Where samples stand in a replay memory: the place, and a serial number that tells when it was overwritten."""

    place: np.ndarray
    serial: np.ndarray


class Chunk(NamedTuple):
    """Samples [K, B, ...] of a replay memory (K minibatches), or a window [T, N, ...] of fresh steps."""

    columns: Columns
    keys: Keys | None = None
    arrived: np.ndarray | None = None
    """Observations [M, ...] that a replay memory got since its last chunk; None if nobody keeps statistics of them."""
