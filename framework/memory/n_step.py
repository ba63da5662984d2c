"""Sums of the rewards of several steps, walked from place to place in the rings."""

from typing import NamedTuple

import numpy as np

from config.model.memory_spec import RewardClip
from framework.memory.ring import Array, Rings, clipped


class Walk(NamedTuple):
    """Ends of walks of up to n steps. Arrays in the shape of the places that they start from."""

    reward: Array
    """Sum of the discounted rewards on the way."""
    factor: Array
    """gamma to the power of the number of steps."""
    last: Array
    """Place of the last step."""


def walk(
    rings: Rings,
    place: Array,
    n: int,
    gamma: float,
    reward: str = "reward",
    end: str = "end",
    clip: RewardClip = "none",
) -> Walk:
    """Walks n steps from each place: fewer where an episode ends or the newest step is reached. reward, end: names of
    the columns of rewards and of ends of episodes. clip: change of each reward."""
    rewards, ends = rings.flat[reward], rings.flat[end]
    dtype = np.result_type(rewards.dtype, np.float32)
    number = dtype.type
    total = clipped(rewards.take(place), clip).astype(dtype, copy=False)
    factor = np.full(place.shape, gamma, dtype)
    last = place
    for _ in range(n - 1):
        going = ~(ends.take(last) | rings.is_newest(last))
        last = np.where(going, rings.ahead(last), last)
        total += np.where(going, factor * clipped(rewards.take(last), clip), number(0))
        factor = np.where(going, factor * number(gamma), factor)
    return Walk(total, factor, last)
