"""Statistics over several runs: mean, interquartile mean, and their bootstrap intervals."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from config.model.arrays import Array
from config.tell.language import tr

Statistic = Callable[[Array], Array]
"""Values [..., n] -> [...]."""
RESAMPLES = 10_000
COVERED = 0.95
LEAST_SEEDS = 3
"""Number of seeds below which there is no interval; the bootstrap of two values gives just these two."""
BAND_POINTS = 50
"""Number of points of a band, each of which is a bootstrap."""


def mean(values: Array) -> Array:
    """Returns the mean of values [..., n] over the last axis."""
    return np.asarray(values.mean(-1))


def interquartile_mean(values: Array) -> Array:
    """Returns the mean of the middle half of values [..., n]: n/4 of them are dropped at each end. If that is not
    a whole number, the value at the border counts with the part that is left."""
    count = values.shape[-1]
    places = np.arange(count)
    overlap = np.minimum(places + 1, 0.75 * count) - np.maximum(places, 0.25 * count)
    weights = np.maximum(overlap, 0.0)
    ordered = np.sort(values, axis=-1)
    low = ordered[..., 0]  # so that the mean of equal values is exactly their value
    return np.asarray(low + (ordered - low[..., None]) @ weights / weights.sum())


def improvement(values: Array, others: Array) -> Array:
    """Returns the probability of improvement: the share of the pairs of one of values [..., n] and one of others
    [..., m] in which the first is higher; a tie counts one half."""
    signs = [np.sign(values[..., i, None] - others).mean(-1) for i in range(values.shape[-1])]
    return np.asarray((1 + np.mean(signs, 0)) / 2)


def name_of_interval(seeds: int) -> str:
    """Returns what `interval` of the values of this number of seeds is called."""
    return tr("{percent:.0f} % interval", percent=100 * COVERED) if seeds >= LEAST_SEEDS else tr("lowest to highest")


def interval(values: Array, statistic: Statistic) -> tuple[float, float] | None:
    """Returns the 95 % percentile bootstrap interval of a statistic of values [n]: that of 10,000 samples of n, drawn
    with replacement from a fixed seed. None for a single value, which has no spread."""
    return stratified_interval([values], statistic)


def band(x: Array, values: Array, statistic: Statistic) -> list[tuple[float, float, float]]:
    """Returns x and the interval of a statistic of values [x, n] there, at BAND_POINTS places."""
    some = np.linspace(0, len(x) - 1, BAND_POINTS).astype(int)
    ends = [interval(row, statistic) for row in values[some]]
    return [(float(place), *end) for place, end in zip(x[some], ends, strict=True) if end is not None]


@lru_cache(4)
def _resamples(*sizes: int) -> list[Array]:
    """Draws the places of the values of each sample. They are the same for all samples of these sizes."""
    random = np.random.default_rng(0)
    return [random.integers(0, size, (RESAMPLES, size)) for size in sizes]


def stratified_interval(strata: Sequence[Array], statistic: Callable[..., Array]) -> tuple[float, float] | None:
    """Returns the interval of a statistic of several samples [n], [m], ..., of which each is drawn for itself. None if
    one of them has a single value. statistic: of samples [10,000, n], [10,000, m], ... -> [10,000]."""
    if any(len(values) < 2 for values in strata):
        return None
    drawn = [values[places] for values, places in zip(strata, _resamples(*map(len, strata)), strict=True)]
    outside = 50 * (1 - COVERED)
    low, high = np.percentile(statistic(*drawn), [outside, 100 - outside])
    return float(low), float(high)
