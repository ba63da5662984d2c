"""What several runs say together: mean, interquartile mean, and bootstrap intervals around them."""

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Statistic = Callable[[Array], Array]
"""Values [..., n] -> [...]."""
RESAMPLES = 10_000
COVERED = 0.95


def mean(values: Array) -> Array:
    """Of values [..., n], over the last axis."""
    return np.asarray(values.mean(-1))


def interquartile_mean(values: Array) -> Array:
    """Mean of the middle half of values [..., n]: a quarter of them, n/4, falls away at each end. Where that is no
    whole number, the value at the border counts with the part of it that is left."""
    count = values.shape[-1]
    places = np.arange(count)
    kept = np.minimum(places + 1, 0.75 * count) - np.maximum(places, 0.25 * count)
    weights = np.maximum(kept, 0.0)
    return np.asarray(np.sort(values, axis=-1) @ weights / weights.sum())


def interval(values: Array, statistic: Statistic) -> tuple[float, float] | None:
    """Percentile bootstrap: the statistic of 10,000 samples of n from these n, drawn with replacement from a fixed
    seed, leaves 2.5 % of itself on either side. None for a single value, which says nothing of its spread."""
    if len(values) < 2:
        return None
    drawn = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    outside = 50 * (1 - COVERED)
    low, high = np.percentile(statistic(values[drawn]), [outside, 100 - outside])
    return float(low), float(high)
