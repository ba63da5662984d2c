"""Charts of a page: their lines as JSON, which curves.js draws."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from config.tell.language import tr
from framework.archive import statistics
from framework.archive.curves import (
    COLUMNS,
    SECONDS,
    Array,
    Curves,
    column_of,
    common,
    interpolated,
    seconds_at,
    some_of,
)
from framework.archive.run import RecordedRun
from framework.archive.statistics import Statistic
from framework.pages.html_page import NUMBERS, joined
from framework.pages.sentences import as_json
from framework.screen.formatting import counted, short

COLORS = 6
"""Number of colors, which are the variables --c0 to --c5 of a page; further lines have them again, dashed."""
MOST_POINTS = 150
"""Number of points of the curve of one of several runs."""
LARGEST = 1e100
"""Size at which a number has no place in a chart."""
USUAL = 5
"""Smoothing of raw curves in percent of their points, until the reader moves the slider."""
TOOLS = f"<div data-tools></div><noscript><p>{tr('Charts need JavaScript.')}</p></noscript>"
"""Place of the controls that all charts of a page share."""
Axes = Mapping[str, Array]
"""Axis -> places of the points of a line; under COUNTS the number of rows in each."""
COUNTS = "counts"


class Line(NamedTuple):
    """A line of a chart."""

    name: str
    axes: Axes
    values: Array
    low: Array | None = None
    high: Array | None = None
    color: int | str | None = 0
    """Number of a color, or a color as #rrggbb; None for gray."""
    kind: str = ""
    """first (thick), pale, failed (dashed), or nothing."""
    series: str = ""
    """Name in the legend; empty: not there."""
    dots: tuple[Axes, Array] | None = None
    """Values that are drawn as dots, such as evaluations."""


class Series(NamedTuple):
    """Runs that a chart shows together."""

    name: str
    about: str
    """Name of the line in their middle."""
    runs: Sequence[tuple[str, Axes, Array]]
    """Name, places and values of the curve of each run."""


class Charts:
    """Collects the charts of a page. Lines with the same Axes share them."""

    def __init__(self, smoothing: int = USUAL) -> None:
        self.smoothing = smoothing
        self._charts: list[dict[str, Any]] = []
        self._axes: list[Axes] = []
        self._names: dict[str, None] = {}

    def add(
        self,
        place: str,
        name: str,
        lines: Sequence[Line],
        levels: Mapping[str, float] = MappingProxyType({}),
        tall: bool = False,
    ) -> None:
        """Adds a chart. place: key of the element that it is in. levels: values that lines across mark, by names."""
        chart: dict[str, Any] = {"place": place, "name": name, "lines": [self._line(line) for line in lines]}
        shown = [(level, value) for level, value in levels.items() if abs(value) < LARGEST]
        self._charts.append(chart | ({"levels": shown} if shown else {}) | ({"tall": True} if tall else {}))

    def numbers(self) -> dict[str, Any]:
        """Returns all numbers, as the scripts of a page take them."""
        places = [{axis: _whole(values) for axis, values in axes.items()} for axes in self._axes]
        return {"axes": list(self._names), "smoothing": self.smoothing, "x": places, "charts": self._charts}

    def data(self) -> str:
        """Returns the element with all numbers; nothing without a chart."""
        return f"{NUMBERS}{as_json(self.numbers())}</script>" if self._charts else ""

    def _line(self, line: Line) -> dict[str, Any]:
        result: dict[str, Any] = {"name": line.name, "x": self._place(line.axes), "y": rounded(line.values)}
        if line.low is not None and line.high is not None:
            result |= {"low": rounded(line.low), "high": rounded(line.high)}
        result |= {
            key: value
            for key, value in {"color": line.color, "kind": line.kind, "series": line.series}.items()
            if value not in ("", None)
        }
        if line.dots is not None:
            axes, values = line.dots
            result["dots"] = {"x": self._place(axes), "y": rounded(values)}
        return result

    def _place(self, axes: Axes) -> int:
        self._names |= dict.fromkeys(axis for axis in axes if axis != COUNTS)
        for number, other in enumerate(self._axes):
            if other is axes:
                return number
        self._axes.append(axes)
        return len(self._axes) - 1


def place(key: str, wide: bool = False) -> str:
    """Returns the element for the charts with this key. wide: one chart in a row."""
    return f'<div class="curves{" wide" * wide}" data-place="{key}"></div>'


def rounded(values: Array) -> list[float | None]:
    """Returns numbers with six digits; None for what has no place in a chart."""
    return [None if not abs(value) < LARGEST else float(f"{value:.6g}") for value in np.asarray(values, float).tolist()]


def _whole(values: Array) -> list[float | None]:
    """Returns places on an axis: whole numbers, and seconds with two digits."""
    return [
        None if not abs(value) < LARGEST else round(value) if value == round(value) else round(value, 2)
        for value in np.asarray(values, float).tolist()
    ]


# -------------------------------------------------------------------------------------------------------- the axes


def axes_of(run: RecordedRun, curves: Curves, x: Array) -> Axes:
    """Returns the places of points of a run on all axes that its files know, the main one first. curves: those of
    several runs, of which the points are one. x: places on their axis."""
    rows, over = run.evaluations if curves.evaluated else run.episodes, curves.over
    base = column_of(rows, COLUMNS[over])
    axes = {axis: interpolated(x, base, column_of(rows, name)) for axis, name in COLUMNS.items() if axis != over}
    return extended({over: x, **axes, SECONDS: seconds_at(run.iterations, over, x)})


def extended(axes: Axes) -> dict[str, Array]:
    """Returns the main axis, which is the first one, and those on which the places are not all the same."""
    main = next(iter(axes))
    return {axis: values for axis, values in axes.items() if axis == main or extends(values)}


def extends(values: Array) -> bool:
    """Returns True if the places on an axis are not all the same."""
    some = values[np.isfinite(values)]
    return len(some) > 0 and (len(values) == 1 or bool((some != some[0]).any()))


# ----------------------------------------------------------------------------------------------------- several runs


def thinned(axes: Axes, values: Array) -> tuple[Axes, Array]:
    """Returns at most MOST_POINTS points of a curve, the first and the last among them."""
    some = some_of(len(values), MOST_POINTS)
    return {axis: places[some] for axis, places in axes.items()}, values[some]


def lines_of(several: Sequence[Series], statistic: Statistic, least: int = 2, thin: bool = True) -> list[Line]:
    """Returns the lines of series, with their colors in order: a thick one for each axis, with the statistic of the
    runs where all of them have values, and its band if there are at least `least`; then the runs. thin: False if a run
    has a line only where its series has none."""
    thick: list[Line] = []
    lines: list[Line] = []
    for number, (name, about, runs) in enumerate(several):
        middle = _middle(name, about, number, runs, statistic, least) if len(runs) > 1 else []
        thick += middle
        if thin or not middle:
            kind = "pale" if middle else "first" if len(runs) == 1 else ""
            lines += [
                Line(label, *thinned(axes, values), color=number, kind=kind, series=name)
                for label, axes, values in runs
            ]
    return [*thick, *lines]


def _middle(
    name: str, about: str, number: int, runs: Sequence[tuple[str, Axes, Array]], statistic: Statistic, least: int
) -> list[Line]:
    lines = []
    for axis in runs[0][1]:
        if not all(axis in axes and np.isfinite(axes[axis]).all() for _, axes, _ in runs):
            continue
        shared = common([(axes[axis], values) for _, axes, values in runs])
        if shared is None:
            continue
        low = high = None
        if len(runs) >= least:
            places, *ends = np.array(statistics.band(*shared, statistic), float).T
            low, high = (np.interp(shared[0], places, end) for end in ends)
        axes = {axis: shared[0]}
        lines.append(Line(about, axes, statistic(shared[1]), low, high, number, "first", name))
    return lines


def meaning(several: Sequence[Series], banded: bool, levels: Mapping[str, float | None] = MappingProxyType({})) -> str:
    """Returns what the lines of series are, in words."""
    most = max(len(series.runs) for series in several)
    if banded:
        band = _band_of(most)
        parts = [tr("Thick: the mean, where all of its runs have values; its band: {band}.", band=band)]
        parts.append(tr("Thin: the runs."))
    else:
        parts = [tr("A line for each run.")]
    if dashed := [f"{name} {short(level)}" for name, level in levels.items() if level is not None]:
        parts.append(tr("Dashed: {levels}.", levels=tr(", ").join(dashed)))
    return joined([*parts, tr("The pointer, or the arrow keys, read the values and name the lines.")])


def _band_of(seeds: int) -> str:
    called = statistics.name_of_interval(seeds)
    if seeds >= statistics.LEAST_SEEDS:
        return tr("its {interval}", interval=called)
    return tr("{interval} of {runs}", interval=called, runs=counted(seeds, "run"))
