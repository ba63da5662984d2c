"""Numbers of curves: columns of rows, running means, what several lines have in common."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from config.model.arrays import Array
from config.tell.language import english, reworded
from framework.disk.csv_table import Table

MOST_POINTS = 1500
"""Number of points of a line; more cannot be told apart."""
STEPS, UPDATES = english("environment steps"), english("updates")
"""Labels of the horizontal axis."""
EPISODES, SECONDS = "episodes", "seconds"
"""Labels of further axes; a page writes seconds as training time."""
COLUMNS = {STEPS: "step", EPISODES: "episode", UPDATES: "update"}
"""Axis -> its column in a CSV file of a run."""
EVALUATION, TRAINING = english("evaluation return"), english("episode return, running mean")
"""Labels of returns."""


Rows = Sequence[Mapping[str, Any]]
Curve = tuple[Array, Array]
"""Environment steps (or updates) [n], returns [n]."""


class Curves(NamedTuple):
    """Curves of several runs."""

    lines: dict[str, Curve]
    """The curve of each run that has one, by its name."""
    quantity: str
    """Label of the returns: online evaluations if all runs have them, else running means of the training episodes."""
    over: str = STEPS
    """Label of what they are drawn over: updates if a run learned from given data before its first step."""

    @property
    def evaluated(self) -> bool:
        """True for evaluations, False for returns of training."""
        return self.quantity == EVALUATION


def shown(quantity: str) -> str:
    """Returns the label of returns in the language of the reader; the name of another number stays."""
    return reworded(quantity, (EVALUATION, TRAINING))


class RunningMean(NamedTuple):
    """A line over the steps at which episodes ended."""

    step: Array
    value: Array
    episodes: Array
    """Number of episodes that each value is the mean of."""


def running_mean(step: Array, value: Array, window: int | None = None) -> RunningMean:
    """Returns the mean of the last episodes at each step at which some ended. Those that end at the same step, in
    several rows, have no order: they are in a mean together or not at all. So it is of at least `window` episodes, and
    of fewer at the start. window: None: `window_for` chooses it."""
    first, behind = together(step)
    least = np.maximum(behind - (window_for(len(step)) if window is None else window), 0)
    start = first[np.searchsorted(first, least, side="right") - 1]
    total = np.concatenate([[0.0], np.cumsum(value)])
    return RunningMean(step[behind - 1], (total[behind] - total[start]) / (behind - start), behind - start)


def together(step: Array) -> tuple[Array, Array]:
    """Returns the stretches of equal steps: the place of the first of each, and the place behind its last."""
    first = np.flatnonzero(np.append(True, step[1:] != step[:-1])[: len(step)])
    return first, np.append(first[1:], len(step))[: len(first)]


def window_for(episodes: int) -> int:
    """Returns the episodes of the running mean: one below 20, then at least 5, a twentieth up to 100, and a 200th of
    long runs."""
    return 1 if episodes < 20 else max(5, min(episodes // 20, 100), episodes // 200)


def column_of(rows: Rows, name: str) -> Array:
    if isinstance(rows, Table):
        return rows.numbers(name)
    values = [row.get(name) for row in rows]
    return np.array([value if isinstance(value, int | float) else np.nan for value in values], float)


def seconds_at(iterations: Rows, over: str, x: Array) -> Array:
    """Returns the seconds of training until each place, interpolated between the iterations; NaN if not known."""
    base, seconds = (column_of(iterations, name) for name in (COLUMNS[over], "seconds_total"))
    return interpolated(x, np.append(0.0, base), np.append(0.0, seconds)) if len(base) else np.full(len(x), np.nan)


def interpolated(x: Array, base: Array, values: Array) -> Array:
    """Returns the values at x; of several at the same place the last one. NaN behind the last place."""
    base, values = finite(base, values)
    if not len(base) or (np.diff(base) < 0).any():
        return np.full(len(x), np.nan)
    last = together(base)[1] - 1
    return np.interp(x, base[last], values[last], right=np.nan)


def known(rows: Rows, name: str) -> Array:
    """Returns the numbers of a column, without the rows that have none."""
    values = column_of(rows, name)
    return values[~np.isnan(values)]


def finite(*columns: Array) -> list[Array]:
    """Returns the places where all columns are finite numbers."""
    keep = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return [column[keep] for column in columns]


GRID = 150
"""Number of points of a line that combines several."""


def common(lines: Sequence[Curve]) -> Curve | None:
    """Returns steps [GRID] and the values of n lines (steps, values) there, [GRID, n], interpolated linearly, from the
    first step that all of them have to the end of the shortest; one step if these are the same, as where only the end
    is evaluated; None if there is none."""
    first, last = max(step[0] for step, _ in lines), min(step[-1] for step, _ in lines)
    if first > last:
        return None
    grid = np.linspace(first, last, GRID if first < last else 1)
    return grid, np.stack([np.interp(grid, step, value) for step, value in lines], axis=1)


def some_of(count: int, most: int = MOST_POINTS) -> Array:
    """Returns the places of at most `most` values, the first and the last among them."""
    return np.linspace(0, count - 1, min(count, most)).astype(int)
