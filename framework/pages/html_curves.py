"""The charts of report.html: each number of the CSV files, the speed, and the load of the machine."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from config.tell.language import english, tr
from framework.archive.curves import COLUMNS, SECONDS, STEPS, UPDATES, Array, Rows, column_of, seconds_at, together
from framework.archive.run import RecordedRun
from framework.pages import html_page as html
from framework.pages.charts import (
    COUNTS,
    LARGEST,
    TOOLS,
    Axes,
    Charts,
    Line,
    extended,
    place,
)
from framework.pages.columns import WORDS, title
from framework.screen.formatting import counted, listed

MOST_POINTS = 600
"""Number of points of a curve; of more rows, each point is a mean of several."""
OPEN = ("train", "speed")
"""Files whose curves are not folded away."""
COUNTERS = (
    "episode", "step", "update", "iteration", "seed", "worker", "row", "episodes", "best",
    "episodes_this_iteration", "seconds_total", "seconds",
)  # fmt: skip
"""Columns that are no curves."""
TIMES = ("seconds_total", "seconds")
"""Columns with the seconds of training, of which a file may have one."""
SPEEDS = (english("environment steps per second"), english("updates per second"))
NEVER_FLAT = ("return", "mean", *SPEEDS)
"""Columns whose curve is not folded away even if all of its values are equal."""
NAMES = {
    **{name: tr(WORDS[name]) for name in ("cpu_percent", "memory_mb", "gpu_percent", "gpu_memory_mb")},
    **{name: tr(name) for name in SPEEDS},
}
"""Column -> name of its chart, for those that a user has not named."""
HELP = tr(
    "Drag across a chart to zoom all of them; a double click or Escape shows the whole run. "
    "With the keyboard: arrow keys, + and -."
)


class Curves(NamedTuple):
    """Curves of the rows of a file."""

    key: str
    title: str
    rows: int
    """Number of steps (or updates) in a point."""
    over: str
    axes: Axes
    values: Mapping[str, Array]
    """Name -> means at each point; NaN where there is none."""
    bands: Mapping[str, tuple[Array, Array]]
    """Name -> lowest and highest value at each point."""
    constant: Mapping[str, float]
    """Name -> its value, of columns whose values are all equal."""


class RunCharts:
    """The charts of a run, in the sections of its report."""

    def __init__(self, run: RecordedRun, levels: Mapping[str, float]) -> None:
        """levels: returns to compare with, by their names."""
        self._run, self._levels, self._charts = run, levels, Charts()
        offline = any(row.get("step") == 0 and row.get("update") for row in (*run.evaluations, *run.iterations))
        over = self._over = UPDATES if offline else STEPS
        speed = tr("Speed, by iteration: {file}", file="results/result.json")
        files = (
            curves_of(run, "train", tr("Training, by episode: {file}", file="results/train.csv"), run.episodes, over),
            curves_of(run, "speed", speed, _speeds(run.iterations), over),
            curves_of(run, "eval", tr("Evaluations: {file}", file="results/eval.csv"), run.evaluations, over),
            curves_of(run, "progress", tr("Iterations: {file}", file="results/progress.csv"), run.progress, over),
        )
        self._machine = curves_of(run, "system", "", run.system, over)
        self._scored: tuple[str, str] | None = None
        """File and column of the chart of the score."""
        self._files = {file.key: file for file in files if file.values or file.constant}

    def score(self) -> str:
        """Returns the chart of the score: the return in training with the evaluations as dots, or the evaluations
        alone; nothing if there are none."""
        name = self._run.return_column
        key, name = ("train", name) if name in self._values("train") else ("eval", "mean")
        if name not in self._values(key):
            return ""
        self._scored = key, name
        dots = self._dots() if key == "train" else None
        self._charts.add("score", title(name), [self._line(self._files[key], name, dots)], self._levels, tall=True)
        return TOOLS + place("score", wide=True)

    def section(self) -> str:
        """Returns the section with all other charts; nothing if the run has no numbers yet."""
        files = [self._folded(file) for file in self._files.values()]
        body = "".join(files)
        return html.section(tr("Charts"), html.paragraph(HELP, "quiet") + TOOLS + body) if body else ""

    def system(self) -> str:
        """Returns the charts of the machine; nothing from a run that did not measure it."""
        for name in self._machine.values:
            self._add("system", self._machine, name)
        return place("system") if self._machine.values else ""

    def data(self) -> str:
        """Returns the numbers of the charts, for the end of the page."""
        return self._charts.data()

    def _values(self, key: str) -> Mapping[str, Array]:
        return self._files[key].values if key in self._files else {}

    def _folded(self, file: Curves) -> str:
        """Returns the place of the charts of a file, which can be folded away."""
        names, flat = [name for name in file.values if (file.key, name) != self._scored], file.constant
        for name in names:
            self._add(file.key, file, name)
        for name in flat:
            self._add(f"{file.key}-flat", file, name)
        body = place(file.key) if names else ""
        if flat:
            charts = counted(len(flat), "flat chart")
            line = tr("{charts}, always the same: {values}", charts=charts, values=listed(flat))
            body += html.folded(line, place(f"{file.key}-flat"))
        note = html.paragraph(_said(file), "quiet")
        return html.folded(file.title, body + note, file.key in OPEN) if body else ""

    def _add(self, where: str, file: Curves, name: str) -> None:
        self._charts.add(where, NAMES.get(name) or title(name), [self._line(file, name)])

    def _line(self, file: Curves, name: str, dots: tuple[Axes, Array] | None = None) -> Line:
        values = file.values.get(name)
        if values is None:
            values = np.full(len(file.axes[self._over]), file.constant[name])
        low, high = file.bands.get(name, (None, None))
        return Line(tr(name) if name in SPEEDS else name, file.axes, values, low, high, dots=dots)

    def _dots(self) -> tuple[Axes, Array] | None:
        rows = self._run.evaluations[-MOST_POINTS:]
        means = column_of(rows, "mean")
        means[~(np.abs(means) < LARGEST)] = math.nan
        return (_axes(self._run, rows, self._over, np.arange(len(rows))), means) if len(rows) else None


def _said(file: Curves) -> str:
    """Returns what a point of these curves is."""
    sentences = []
    if file.rows > 1 and COUNTS not in file.axes:
        sentences.append(tr("Each point is the mean of {count} rows.", count=file.rows))
    elif file.rows > 1 and file.over == UPDATES:
        sentences.append(tr("Each point is the mean of the rows of {count} updates.", count=file.rows))
    elif file.rows > 1:
        sentences.append(tr("Each point is the mean of the rows of {count} steps.", count=file.rows))
    if COUNTS in file.axes and file.key == "train":
        if file.bands:
            together = tr("Episodes that end together are one point; the band goes from the lowest to the highest.")
        else:
            together = tr("Episodes that end together are one point.")
        sentences.append(together)
    return html.joined(sentences)


def curves_of(run: RecordedRun, key: str, title: str, rows: Rows, over: str) -> Curves:
    """Returns the curves of a file. over: main axis."""
    names = [name for name in (rows[0] if rows else ()) if name not in COUNTERS]
    first, behind = together(column_of(rows, COLUMNS[over]))
    every = math.ceil(len(first) / MOST_POINTS) or 1
    starts, ends = first[::every], behind[np.minimum(np.arange(every, len(first) + every, every), len(first)) - 1]
    axes = _axes(run, rows, over, ends - 1)
    if len(first) < len(rows):
        axes[COUNTS] = ends - starts
    curves, bands, constant = {}, {}, {}
    for name in names:
        values = column_of(rows, name)
        values[~(np.abs(values) < LARGEST)] = math.nan
        numbers = values[~np.isnan(values)]
        if len(numbers) > 1 and name not in NEVER_FLAT and (numbers == numbers[0]).all():
            constant[name] = float(numbers[0])
        elif len(numbers):
            curves[name] = _means(values, starts)
            apart = np.fmin.reduceat(values, first) < np.fmax.reduceat(values, first)
            low, high = (end.reduceat(values, starts) for end in (np.fmin, np.fmax))
            if apart.any() and 2 * (low < high).sum() > len(starts):  # few that happen to end together make no band
                bands[name] = low, high
    return Curves(key, title, every, over, axes, curves, bands, constant)


def _axes(run: RecordedRun, rows: Rows, over: str, places: Array) -> dict[str, Array]:
    """Returns the places of some rows of a file on all axes that it has, the main one first."""
    main = column_of(rows, COLUMNS[over])[places]
    axes = {over: np.where(np.abs(main) < LARGEST, main, 0.0)}
    if not len(places):
        return axes
    for axis, name in COLUMNS.items():
        if axis != over and name in rows[0]:
            axes[axis] = column_of(rows, name)[places]
    seconds = next((name for name in TIMES if name in rows[0]), None)
    axes[SECONDS] = (
        seconds_at(run.iterations, over, axes[over]) if seconds is None else column_of(rows, seconds)[places]
    )
    return extended(axes)


def _means(values: Array, starts: Array) -> Array:
    """Returns the mean of the values that are there from each start to the next; NaN where there is none."""
    present = ~np.isnan(values)
    count = np.add.reduceat(present.astype(float), starts)
    total = np.add.reduceat(np.where(present, values, 0.0), starts)
    means: Array = np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0)
    return means


def _speeds(iterations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the speed in each iteration: in steps, if there are any, and in updates."""
    names = ("step", "update", "seconds_total")
    columns = [column_of(iterations, name) for name in names]
    began = np.concatenate([[0.0], columns[2][:-1]])
    seconds = columns[2] - began
    episodes = column_of(iterations, "episode")
    rows = []
    for number in range(len(iterations)):
        row: dict[str, Any] = {name: column[number] for name, column in zip(names, columns, strict=True)}
        row["episode"] = episodes[number]
        for column, name in zip(columns[:2], SPEEDS, strict=True):
            if column[-1] == 0:
                continue
            done = column[number] - (column[number - 1] if number else 0.0)
            row[name] = float(done / seconds[number]) if seconds[number] > 0 and done >= 0 else math.nan
        rows.append(row)
    return rows
