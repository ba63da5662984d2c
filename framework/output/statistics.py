"""Statistics over several runs: mean, interquartile mean, and their bootstrap intervals."""

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Statistic = Callable[[Array], Array]
"""Values [..., n] -> [...]."""
RESAMPLES = 10_000
COVERED = 0.95


def mean(values: Array) -> Array:
    """Returns the mean of values [..., n] over the last axis."""
    return np.asarray(values.mean(-1))


def interquartile_mean(values: Array) -> Array:
    """Returns the mean of the middle half of values [..., n]: n/4 of them are dropped at each end. If that is no whole
    number, the value at the border counts with the part that is left."""
    count = values.shape[-1]
    places = np.arange(count)
    kept = np.minimum(places + 1, 0.75 * count) - np.maximum(places, 0.25 * count)
    weights = np.maximum(kept, 0.0)
    return np.asarray(np.sort(values, axis=-1) @ weights / weights.sum())


def interval(values: Array, statistic: Statistic) -> tuple[float, float] | None:
    """Returns the 95 % percentile bootstrap interval of a statistic of values [n]: that of 10,000 samples of n, drawn
    with replacement from a fixed seed. None for a single value, which has no spread."""
    if len(values) < 2:
        return None
    drawn = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    outside = 50 * (1 - COVERED)
    low, high = np.percentile(statistic(values[drawn]), [outside, 100 - outside])
    return float(low), float(high)
