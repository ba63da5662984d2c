"""Learning curves of measured rows, and docs/images/learning.svg, made from them."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from framework.archive import statistics
from framework.archive.curves import Array, Curve, some_of
from framework.disk.csv_table import read_csv
from framework.screen.formatting import short

RESULTS = Path(__file__).parent / "results" / "curves.json"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "learning.svg"
MOST_POINTS = 40
"""Number of evaluations of a run that are kept."""
COLUMNS, PANEL_WIDTH, PANEL_HEIGHT, PLOT_HEIGHT = 2, 480, 330, 200
LEFT, TOP = 64, 66
"""Pixels between the edge of a panel and its axes."""
GRID = 60
"""Number of points of a mean."""
STYLE = """
  .paper { fill: #ffffff } .name { fill: #1b1f2a; font-weight: 600 } .text { fill: #3d4455 } .grid { stroke: #e5e7eb }
  .line { fill: none; stroke-width: 2 } .band { opacity: 0.16; stroke: none }
  .c0 { stroke: #0072b2; fill: #0072b2 } .c1 { stroke: #d55e00; fill: #d55e00 } .c2 { stroke: #007a5e; fill: #007a5e }
  .c3 { stroke: #b0508a; fill: #b0508a } .c4 { stroke: #a87400; fill: #a87400 } .c5 { stroke: #4a5568; fill: #4a5568 }
  path.line { fill: none }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14171f } .name { fill: #eef1f8 } .text { fill: #b9c1d3 } .grid { stroke: #2c3440 }
    .c0 { stroke: #56b4e9; fill: #56b4e9 } .c1 { stroke: #f08c4a; fill: #f08c4a } .c2 { stroke: #35c79b; fill: #35c79b }
    .c3 { stroke: #e79ac6; fill: #e79ac6 } .c4 { stroke: #e6b422; fill: #e6b422 } .c5 { stroke: #a9b4c8; fill: #a9b4c8 }
    path.line { fill: none }
  }
"""
Runs = Sequence[Sequence[Sequence[float]]]
"""Steps and mean scores of the evaluations of each seed."""


def curve_of(run: Path) -> list[list[float]]:
    """Returns steps and mean scores of a run's online evaluations, MOST_POINTS of them at most."""
    rows = [(float(row["step"]), float(row["mean"])) for row in read_csv(run / "results" / "eval.csv")]
    return [[float(short_number(rows[at][column])) for at in some_of(len(rows), MOST_POINTS)] for column in (0, 1)]


def short_number(value: float) -> str:
    """Returns a number with five digits."""
    return f"{value:.5g}"


def read() -> dict[str, Runs]:
    """Returns the curves of each row that has some."""
    curves: dict[str, Runs] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return curves


def text_of(curves: Mapping[str, Runs]) -> str:
    """Returns the content of curves.json, a line for each row."""
    lines = (f"{json.dumps(name)}: {json.dumps(runs, separators=(',', ':'))}" for name, runs in curves.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def mean_of(runs: Runs) -> tuple[Array, Array]:
    """Returns steps [GRID] and scores there [GRID, seeds]. A run that stopped early, as its task was solved, keeps its
    last score."""
    lines: list[Curve] = [(np.array(step), np.array(score)) for step, score in runs if len(step) > 1]
    grid = np.linspace(max(step[0] for step, _ in lines), max(step[-1] for step, _ in lines), GRID)
    return grid, np.stack([np.interp(grid, step, score) for step, score in lines], axis=1)


def picture(panels: Sequence[Mapping[str, Any]], curves: Mapping[str, Runs]) -> str:
    """Returns an SVG with a panel for each environment. panels: a title, and names of rows by the label of each line;
    rows without curves are left out, and so is a panel without rows."""
    drawn = []
    for panel in panels:
        lines = {label: mean_of(curves[row]) for label, row in panel["rows"].items() if row in curves}
        if lines:
            drawn.append((panel["title"], lines))
    rows = math.ceil(len(drawn) / COLUMNS)
    width, height = COLUMNS * PANEL_WIDTH, max(rows, 1) * PANEL_HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
        ' font-family="system-ui, Noto Sans, sans-serif" aria-label="Learning curves">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
    ]
    for at, (title, lines) in enumerate(drawn):
        x, y = at % COLUMNS * PANEL_WIDTH, at // COLUMNS * PANEL_HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *_panel(title, lines), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, lines: Mapping[str, tuple[Array, Array]]) -> list[str]:
    intervals = {label: _interval(scores) for label, (_, scores) in lines.items()}
    last = max(float(grid[-1]) for grid, _ in lines.values())
    low = min(float(low.min()) for low, _ in intervals.values())
    high = max(float(high.max()) for _, high in intervals.values())
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    wide = PANEL_WIDTH - LEFT - 24

    def place(step: float, score: float) -> tuple[float, float]:
        return LEFT + wide * step / last, TOP + PLOT_HEIGHT * (1 - (score - low) / (high - low or 1.0))

    parts = [f'<text class="name" x="{LEFT}" y="26" font-size="15">{escape(title)}</text>']
    parts += _legend(lines)
    for tick in ticks:
        y = place(0, tick)[1]
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, short(tick), "end"))
    for step in _ticks(0.0, last):
        parts.append(_text(place(step, low)[0], TOP + PLOT_HEIGHT + 18, _steps(step), "middle"))
    parts.append(_text(LEFT + wide / 2, TOP + PLOT_HEIGHT + 38, "environment steps", "middle"))
    for number, (label, (grid, scores)) in enumerate(lines.items()):
        bottom, top = intervals[label]
        around = [*zip(grid, top, strict=True), *reversed([*zip(grid, bottom, strict=True)])]
        parts.append(f'<path class="band c{number}" d="{_path(place(*point) for point in around)}Z"/>')
        middle = zip(grid, scores.mean(1), strict=True)
        parts.append(f'<path class="line c{number}" d="{_path(place(*point) for point in middle)}"/>')
    return parts


def _interval(scores: Array) -> tuple[Array, Array]:
    """Returns both ends of the interval of the mean of scores [n, seeds]; the score itself for one seed."""
    ends = [statistics.interval(row, statistics.mean) or (float(row[0]), float(row[0])) for row in scores]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _legend(labels: Iterable[str]) -> list[str]:
    parts, x = [], float(LEFT)
    for number, label in enumerate(labels):
        parts.append(f'<path class="line c{number}" d="M{x:.1f} 44h16"/>')
        parts.append(_text(x + 21, 48, label, "start"))
        x += 36 + 7.6 * len(label)
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="text" x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}">{escape(text)}</text>'


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _ticks(low: float, high: float) -> list[float]:
    """Returns round numbers between two, at most six."""
    rough = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    gap = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    return [gap * at for at in range(math.ceil(low / gap - 1e-9), math.floor(high / gap + 1e-9) + 1)]


def _steps(count: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:g}{unit}"
    return f"{count:g}"
