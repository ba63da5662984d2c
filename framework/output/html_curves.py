"""The curves of report.html: each number of the CSV files, and the speed, with zoom and values under the pointer."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from config.opening import read_regular
from framework.output.csv_table import MOST_BYTES, read_csv
from framework.output.curves import STEPS, UPDATES, Array, Rows, column_of
from framework.output.html_page import CHART_SCRIPT, CHART_STYLE, paragraph, section, text
from framework.output.json_lines import objects

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
STYLE = (
    CHART_STYLE
    + """
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: .5rem 1.5rem; }
.curve { min-width: 0; cursor: crosshair; user-select: none; } .curve circle { fill: var(--c1); stroke: var(--c1); }
.curve circle.here { fill: var(--c0); stroke: var(--c0); } .curve .what { fill: var(--ink); }
.curve svg:focus-visible { outline: 2px solid var(--accent); }
.readout { min-height: 1.4rem; margin: 0; font-size: .8rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
summary { cursor: pointer; margin: .75rem 0; font-weight: 600; font-size: .95rem; }
#whole { position: sticky; top: .5rem; z-index: 1; margin: .5rem 0; padding: .35rem .8rem; cursor: pointer;
  font: inherit; font-size: .9rem; color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; }
#whole[hidden] { display: none; }
"""
)
SCRIPT = CHART_SCRIPT + Path(__file__).with_name("curves.js").read_text(encoding="utf-8")
MARK = '<script type="application/json" id="numbers">'
"""Begin of the numbers in a page that has curves."""
HELP = (
    "Drag across a curve to zoom all of them; a double click or Escape shows the whole run. "
    "With the keyboard: arrow keys, + and -."
)


def curves(results: Path, train: Rows, evaluations: Rows) -> str:
    """Returns the section with the curves of a run; nothing if it has no numbers yet. The page needs STYLE and SCRIPT.
    results: folder of its files."""
    iterations = _iterations(results / "result.json")
    offline = any(row.get("step") == 0 and row.get("update") for row in (*evaluations, *iterations))
    over = "update" if offline else "step"
    found = [
        _set("train", "Training, by episode: results/train.csv", train, over),
        _set("speed", "Speed, by iteration: results/result.json", _speeds(iterations), over),
        _set("eval", "Evaluations: results/eval.csv", evaluations, over),
        _set("progress", "Iterations: results/progress.csv", read_csv(results / "progress.csv"), over),
    ]
    sets = [each for each in found if each["curves"]]
    if not sets:
        return ""
    if sets[0]["key"] == "train" and "return" in sets[0]["curves"]:
        sets[0]["dots"] = {"return": _dots(evaluations, over)}
    parts = []
    for each in sets:
        note = paragraph(f"Each point is the mean of {each['rows']} rows.", "quiet") if each["rows"] > 1 else ""
        opened = " open" if each["key"] in OPEN else ""
        parts.append(
            f"<details{opened}><summary>{text(each['title'])}</summary>{note}"
            f'<div class="curves" data-set="{each["key"]}"></div></details>'
        )
    without = "<noscript><p>The curves need JavaScript; the files in results/ have their numbers.</p></noscript>"
    again = '<button id="whole" type="button" hidden>Whole run</button>'
    data = f"{MARK}{_json(sets)}</script>"
    return section("Curves", paragraph(HELP, "quiet") + without + again + "".join(parts) + data)


def _json(value: Any) -> str:
    """Returns JSON that cannot end the element that it is in."""
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return written.replace("&", "\\u0026").replace("<", "\\u003c").replace("/", "\\/")


def _set(key: str, title: str, rows: Rows, over: str) -> dict[str, Any]:
    """Returns the curves of a file, over steps or updates."""
    names = [name for name in (rows[0] if rows else ()) if name not in COUNTERS]
    every = math.ceil(len(rows) / MOST_POINTS)
    x = column_of(rows, over)
    means = {name: _means(rows, name, every) for name in names}
    return {
        "key": key, "title": title, "rows": every, "over": UPDATES if over == "update" else STEPS,
        "x": [round(value) if abs(value) < LARGEST else 0 for value in x[_ends(len(rows), every)]],
        "curves": {name: values for name, values in means.items() if any(value is not None for value in values)},
        "dots": {},
    }  # fmt: skip


def _ends(count: int, every: int) -> Array:
    """Returns the place of the last row of each point."""
    return np.minimum(np.arange(every or 1, count + (every or 1), every or 1), count) - 1


def _means(rows: Rows, name: str, every: int) -> list[float | None]:
    """Returns the mean of each `every` values that are there; None where there is none."""
    values = column_of(rows, name)
    known = np.abs(values) < LARGEST  # false for nan
    starts = np.arange(0, len(rows), every)
    count = np.add.reduceat(known.astype(float), starts)
    total = np.add.reduceat(np.where(known, values, 0.0), starts)
    return [float(f"{t / n:.6g}") if n else None for t, n in zip(total, count, strict=True)]


def _dots(evaluations: Rows, over: str) -> list[tuple[float, float]]:
    points = zip(column_of(evaluations, over), column_of(evaluations, "mean"), strict=True)
    return [(float(x), float(y)) for x, y in points if abs(x) < LARGEST and abs(y) < LARGEST][-MOST_POINTS:]


def _iterations(path: Path) -> list[dict[str, Any]]:
    """Returns the results of the iterations; skips truncated and foreign lines."""
    try:
        lines = read_regular(path, MOST_BYTES).decode(errors="replace").split("\n")
    except OSError:
        return []
    return list(objects(lines))


def _speeds(iterations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the speed in each iteration."""
    names = ("step", "update", "seconds_total")
    columns = [column_of(iterations, name) for name in names]
    began = np.concatenate([[0.0], columns[2][:-1]])
    seconds = columns[2] - began
    rows = []
    for place in range(len(iterations)):
        row: dict[str, Any] = {"step": columns[0][place], "update": columns[1][place]}
        for column, name in zip(columns[:2], ("environment steps per second", "updates per second"), strict=True):
            done = column[place] - (column[place - 1] if place else 0.0)
            row[name] = float(done / seconds[place]) if seconds[place] > 0 and done >= 0 else math.nan
        rows.append(row)
    return rows
