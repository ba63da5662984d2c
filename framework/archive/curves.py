"""Parts of all figures: colors, columns of numbers, running means, and axes."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from framework.disk.csv_table import Table

MOST_POINTS = 1500
"""Number of points of a line; more cannot be told apart."""
STEPS, UPDATES = "environment steps", "updates"
"""Labels of the horizontal axis."""


Rows = Sequence[Mapping[str, Any]]


Array = np.ndarray


class Palette(NamedTuple):
    """Colors of a figure. The lines are from the Okabe-Ito palette, which is safe for color-blind readers."""

    blue: str
    orange: str
    green: str
    grey: str
    ink: str
    grid: str
    paper: str


LIGHT = Palette("#0072b2", "#d55e00", "#007a5e", "#6b7280", "#1c2430", "#e5e7eb", "#ffffff")


DARK = Palette("#56b4e9", "#e69f00", "#35c79b", "#98a2b3", "#e6e9ef", "#2c3440", "none")
"""For a dark page: its own background shows through."""


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


def common(lines: Sequence[tuple[Array, Array]]) -> tuple[Array, Array] | None:
    """Returns steps [GRID] and the values of n lines (steps, values) there, [GRID, n], interpolated linearly, from the
    first step that all of them have to the end of the shortest; None if there is none between."""
    first, last = max(step[0] for step, _ in lines), min(step[-1] for step, _ in lines)
    if first >= last:
        return None
    grid = np.linspace(first, last, GRID)
    return grid, np.stack([np.interp(grid, step, value) for step, value in lines], axis=1)


def some_of(count: int, most: int = MOST_POINTS) -> Array:
    """Returns the places of at most `most` values, the first and the last among them."""
    return np.linspace(0, count - 1, min(count, most)).astype(int)


def dress(axes: Any, title: str, beside: str, what: str, over: str = STEPS) -> None:
    from matplotlib.ticker import EngFormatter

    figure = axes.figure
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    figure.set_facecolor(LIGHT.paper)
    axes.set_facecolor(LIGHT.paper)
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=LIGHT.ink)
    axes.set_title(beside, loc="right", fontsize=10, color=LIGHT.grey)
    axes.set_xlabel(over, color=LIGHT.ink)
    axes.set_ylabel(what, color=LIGHT.ink)
    axes.tick_params(colors=LIGHT.ink)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.margins(y=0.08)
    axes.grid(color=LIGHT.grid, linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side not in ("top", "right"))
        spine.set_edgecolor(LIGHT.ink)


LEGEND_LETTERS = 105
"""Room of a line of a legend, in letters; a mark takes six."""


def legend_columns(labels: Sequence[str]) -> int:
    """Returns the number of columns of a legend that is no wider than the figure."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for label in labels for letter in label)
    return 5 if sum(len(label) + 6 for label in labels) + wide <= LEGEND_LETTERS else 3
