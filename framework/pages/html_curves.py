"""The curves of report.html: each number of the CSV files, and the speed, with zoom and values under the pointer."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from framework.archive.curves import STEPS, UPDATES, Array, Rows, column_of, together
from framework.archive.run import RecordedRun
from framework.pages import html_page as html
from framework.screen.formatting import listed

MOST_POINTS = 600
"""Number of points of a curve; of more rows, each point is a mean of several."""
LARGEST = 1e100
"""Size at which a number has no place in a chart."""
OPEN = ("train", "speed")
"""Files whose curves are not folded away."""
COUNTERS = (
    "episode", "step", "update", "iteration", "seed", "worker", "row", "episodes", "best",
    "episodes_this_iteration",
)  # fmt: skip
"""Columns that are no curves."""
SPEEDS = ("environment steps per second", "updates per second")
NEVER_LEFT_OUT = ("return", "mean", *SPEEDS)
"""Columns that have a curve even if all of their values are equal."""
STYLE, SCRIPT = html.CHART_STYLE + html.asset("curves.css"), html.CHART_SCRIPT + html.asset("curves.js")
MARK = '<script type="application/json" id="numbers">'
"""Begin of the numbers in a page that has curves."""
HELP = (
    "Drag across a curve to zoom all of them; a double click or Escape shows the whole run. "
    "With the keyboard: arrow keys, + and -."
)


def curves(run: RecordedRun, levels: Mapping[str, float]) -> str:
    """Returns the section with the curves of a run; nothing if it has no numbers yet. The page needs STYLE and SCRIPT.
    levels: returns to compare with, by their names."""
    offline = any(row.get("step") == 0 and row.get("update") for row in (*run.evaluations, *run.iterations))
    over, score = "update" if offline else "step", run.facts.score_policy
    charts = [
        _set("train", "Training, by episode: results/train.csv", run.episodes, over),
        _set("speed", "Speed, by iteration: results/result.json", _speeds(run.iterations), over),
        _set("eval", "Evaluations: results/eval.csv", run.evaluations, over),
        _set("progress", "Iterations: results/progress.csv", run.progress, over),
    ]
    sets = [chart for chart in charts if chart["curves"]]
    if not sets:
        return ""
    returns = f"return_{score}" if score else "return"
    if sets[0]["key"] == "train" and returns in sets[0]["curves"]:
        sets[0]["dots"] = {returns: _dots(run.evaluations, over)}
        sets[0]["levels"] = {returns: [(name, value) for name, value in levels.items() if abs(value) < LARGEST]}
    without = "<noscript><p>The curves need JavaScript; the files in results/ have their numbers.</p></noscript>"
    again = '<button id="whole" type="button" hidden>Whole run</button>'
    data = f"{MARK}{_json(sets)}</script>"
    return html.section("Curves", html.paragraph(HELP, "quiet") + without + again + "".join(map(_folded, sets)) + data)


def _folded(chart: Mapping[str, Any]) -> str:
    """Returns the place of the curves of a file, which can be folded away."""
    place = f'<div class="curves" data-set="{chart["key"]}"></div>{html.paragraph(_said(chart), "quiet")}'
    return html.folded(chart["title"], place, chart["key"] in OPEN)


def _said(chart: Mapping[str, Any]) -> str:
    """Returns what a point of these curves is, and which columns have no curve."""
    unit = "updates" if chart["over"] == UPDATES else "steps"
    rows = f"the rows of {chart['rows']} {unit}" if chart["counts"] else f"{chart['rows']} rows"
    sentences = [f"Each point is the mean of {rows}."] if chart["rows"] > 1 else []
    if chart["counts"] and chart["key"] == "train":
        band = "; the band goes from the lowest to the highest" if chart["bands"] else ""
        sentences.append(f"Episodes that end together are one point{band}.")
    if chart["constant"]:
        sentences.append(f"Always the same: {listed(chart['constant'])}.")
    return " ".join(sentences)


def _json(value: Any) -> str:
    """Returns JSON that cannot end the element that it is in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace("/", "\\/")


def _set(key: str, title: str, rows: Rows, over: str) -> dict[str, Any]:
    """Returns the curves of a file, over steps or updates."""
    names = [name for name in (rows[0] if rows else ()) if name not in COUNTERS]
    x = column_of(rows, over)
    first, behind = together(x)
    every = math.ceil(len(first) / MOST_POINTS) or 1
    starts, ends = first[::every], behind[np.minimum(np.arange(every, len(first) + every, every), len(first)) - 1]
    result: dict[str, Any] = {
        "key": key, "title": title, "rows": every, "over": UPDATES if over == "update" else STEPS,
        "x": [round(value) if abs(value) < LARGEST else 0 for value in x[ends - 1]],
        "counts": [], "curves": {}, "bands": {}, "dots": {}, "levels": {}, "constant": {},
    }  # fmt: skip
    if len(first) < len(rows):
        result["counts"] = (ends - starts).tolist()
    for name in names:
        values = column_of(rows, name)
        values[~(np.abs(values) < LARGEST)] = math.nan
        numbers = values[~np.isnan(values)]
        if len(numbers) > 1 and name not in NEVER_LEFT_OUT and (numbers == numbers[0]).all():
            result["constant"][name] = float(numbers[0])
        elif len(numbers):
            result["curves"][name] = _means(values, starts)
            apart = np.fmin.reduceat(values, first) < np.fmax.reduceat(values, first)
            low, high = (end.reduceat(values, starts) for end in (np.fmin, np.fmax))
            if apart.any() and 2 * (low < high).sum() > len(starts):  # few that happen to end together make no band
                result["bands"][name] = [_rounded(low), _rounded(high)]
    return result


def _means(values: Array, starts: Array) -> list[float | None]:
    """Returns the mean of the values that are there from each start to the next; None where there is none."""
    present = ~np.isnan(values)
    count = np.add.reduceat(present.astype(float), starts)
    total = np.add.reduceat(np.where(present, values, 0.0), starts)
    return _rounded(np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0))


def _rounded(values: Array) -> list[float | None]:
    return [None if math.isnan(value) else float(f"{value:.6g}") for value in values]


def _dots(evaluations: Rows, over: str) -> list[tuple[float, float]]:
    points = zip(column_of(evaluations, over), column_of(evaluations, "mean"), strict=True)
    return [(float(x), float(y)) for x, y in points if abs(x) < LARGEST and abs(y) < LARGEST][-MOST_POINTS:]


def _speeds(iterations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the speed in each iteration."""
    names = ("step", "update", "seconds_total")
    columns = [column_of(iterations, name) for name in names]
    began = np.concatenate([[0.0], columns[2][:-1]])
    seconds = columns[2] - began
    rows = []
    for place in range(len(iterations)):
        row: dict[str, Any] = {"step": columns[0][place], "update": columns[1][place]}
        for column, name in zip(columns[:2], SPEEDS, strict=True):
            done = column[place] - (column[place - 1] if place else 0.0)
            row[name] = float(done / seconds[place]) if seconds[place] > 0 and done >= 0 else math.nan
        rows.append(row)
    return rows
