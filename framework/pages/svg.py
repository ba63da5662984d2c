"""Figures of many lines as SVG, inside a page: their text takes its colors, light or dark."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from framework.archive import statistics
from framework.archive.curves import STEPS, Array, Curve, common, some_of
from framework.archive.statistics import Statistic
from framework.pages.axes import DARK, LIGHT
from framework.pages.html_page import asset, text
from framework.screen.formatting import short

WIDTH, HEIGHT = 960, 380
"""Size in pixels; a figure with many axes is wider."""
TOP, BOTTOM, SIDE = 52, 22, 56
"""Margins in pixels."""
LEAST_GAP = 120
"""Smallest number of pixels between two axes."""
PIXELS_PER_LETTER = 6.6
MOST_LABELS = 12
"""Number of values of a list that are named at its axis."""
LONGEST_LABEL = 14
MOST_POINTS = 150
"""Number of points of the curve of a run."""
MANY = 40
"""Least number of lines that are drawn thin."""
STOPS = ((0x3B, 0x7D, 0xD8), (0x8A, 0x6F, 0xC0), (0xD0, 0x56, 0x8A), (0xE8, 0x74, 0x3B))
"""Colors from the worst to the best line: of medium lightness, for light and dark pages."""
TONES = (LIGHT.blue, LIGHT.orange, "#009e73", "#cc79a7", "#b58900", "#7b61c9")
DARK_TONES = (DARK.blue, DARK.orange, DARK.green, "#e39ac0", "#f0e442", "#b3a1f0")
"""Colors of lines that are to be told apart, on light and on dark pages; further ones are the same, dashed."""
_VARIABLES, _DARK_VARIABLES = (
    " ".join(f"--tone-{n}: {color};" for n, color in enumerate(tones)) for tones in (TONES, DARK_TONES)
)
STYLE = f"""
:root {{ {_VARIABLES} --pale: .35; --faint: .16; }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK_VARIABLES} --pale: .55; --faint: .28; }} }}
{asset("svg.css")}"""


class Line(NamedTuple):
    """Style and tooltip of a line."""

    about: str
    """Text of the tooltip."""
    share: float | None
    """Its color: 0 for the worst line, 1 for the best; None: it has no score."""
    kind: str = ""
    """first, pale, failed, or nothing."""
    tone: int | None = None
    """Number of its color in TONES, from 0; None: that of its share."""


Polyline = tuple[Line, Sequence[tuple[float, float]]]
"""A line, and its steps and values."""


class Band(NamedTuple):
    """An area between two lines."""

    tone: int
    points: Sequence[tuple[float, float, float]]
    """Step, lower and upper value."""


class Series(NamedTuple):
    """Runs that a chart shows together."""

    name: str
    about: str
    """Text of the tooltip of the line in their middle."""
    runs: Sequence[tuple[str, Curve]]
    """Name and curve of each run."""


def series(
    several: Sequence[Series], statistic: Statistic, least: int = 2, thin: bool = True
) -> tuple[list[Polyline], list[Band]]:
    """Returns the lines of series, in the order of TONES: a thick one with the statistic of the runs where all of them
    have values, and its band if there are at least `least`; then the runs. thin: False if a run has a line only where
    its series has none."""
    thick: list[Polyline] = []
    lines: list[Polyline] = []
    bands = []
    for number, (_, about, runs) in enumerate(several):
        shared = common([curve for _, curve in runs]) if len(runs) > 1 else None
        if shared is not None:
            thick.append((Line(about, None, "first", number), thinned(shared[0], statistic(shared[1]))))
            bands += [Band(number, statistics.band(*shared, statistic))] if len(runs) >= least else []
        if thin or shared is None:
            kind = "pale" if shared is not None else "first" if len(runs) == 1 else ""
            lines += [(Line(name, None, kind, number), thinned(*curve)) for name, curve in runs]
    return [*thick, *lines], bands


def thinned(step: Array, value: Array) -> list[tuple[float, float]]:
    """Returns at most MOST_POINTS points of a curve, the first and the last among them."""
    some = some_of(len(step), MOST_POINTS)
    return list(zip(step[some].tolist(), value[some].tolist(), strict=True))


class Axis(NamedTuple):
    """A scale from bottom to top."""

    name: str
    kind: str
    """log, linear or list."""
    values: Sequence[Any]
    """Lowest and highest number, or all labels."""

    def place(self, value: Any) -> float:
        """Returns the height of a value, from 0 to 1."""
        if self.kind == "list":
            return (self.values.index(value) + 0.5) / len(self.values)
        low, high, at = (math.log10(v) if self.kind == "log" else float(v) for v in (*self.values, value))
        return (at - low) / (high - low) if high > low else 0.5

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yields heights and labels."""
        if self.kind == "list":
            every = math.ceil(len(self.values) / MOST_LABELS)
            for value in self.values[::every]:
                yield self.place(value), _cut(str(value))
            return
        ends = [float(value) for value in self.values]
        inner = _powers(*ends) if self.kind == "log" else _steps(*ends)
        for value in ends if ends[0] < ends[1] else ends[:1]:
            yield self.place(value), short(value)
        for value in inner:
            if 0.07 < self.place(value) < 0.93:
                yield self.place(value), short(value)


def _powers(low: float, high: float) -> list[float]:
    """Returns the powers of ten between two numbers."""
    return [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def _steps(low: float, high: float) -> list[float]:
    """Returns about four round numbers between two others."""
    if not high > low:
        return []
    step = _step(low, high, 5)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _step(low: float, high: float, most: int) -> float:
    """Returns the distance of round numbers of which at most `most` fit between two others."""
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= (high - low) / most)


def round_numbers(low: float, high: float) -> list[float]:
    """Returns up to ten round numbers, the first not above `low`, the last not below `high`."""
    if not high > low:
        margin = abs(low) / 10 or 1.0
        low, high = low - margin, high + margin
    step = _step(low, high, 8)
    return [step * n for n in range(math.floor(low / step), math.ceil(high / step) + 1)]


def brief(value: float) -> str:
    """Returns a number for an axis: 20k, 1.5M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if unit <= abs(value) < 1e13:
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}"


def _cut(label: str, most: int = LONGEST_LABEL) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def color(share: float) -> str:
    """Returns the color of a line. share: 0 for the worst, 1 for the best."""
    at = min(max(share, 0.0), 1.0) * (len(STOPS) - 1)
    first = min(int(at), len(STOPS) - 2)
    parts = [round(a + (b - a) * (at - first)) for a, b in zip(STOPS[first], STOPS[first + 1], strict=True)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def parallel(axes: Sequence[Axis], lines: Sequence[tuple[Line, Sequence[Any]]]) -> str:
    """Returns parallel coordinates: each line crosses every axis at its value, and none where that is None.
    lines: the most important one first, drawn on top."""
    gap = max(LEAST_GAP, (WIDTH - 2 * SIDE) / max(1, len(axes) - 1))
    width = round(2 * SIDE + gap * (len(axes) - 1))
    parts = []
    for line, values in reversed(lines):
        crossed = enumerate(zip(axes, values, strict=True))
        points = [(SIDE + gap * n, _y(axis.place(value))) for n, (axis, value) in crossed if value is not None]
        if len(points) > 1:
            parts.append(_path(line, points))
    for number, axis in enumerate(axes):
        parts += _axis(axis, SIDE + gap * number, int((gap - 10) / PIXELS_PER_LETTER))
    return _svg(width, parts, len(lines))


def _axis(axis: Axis, x: float, letters: int) -> Iterator[str]:
    yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(1):.1f}" y2="{_y(0):.1f}"/>'
    lines = wrapped(axis.name, letters)
    for number, part in enumerate(lines):
        y = TOP - 12 - 14 * (len(lines) - 1 - number)
        yield f'<text class="name" x="{x:.1f}" y="{y}" text-anchor="middle">{text(part)}</text>'
    for place, label in axis.ticks():
        yield f'<text class="tick" x="{x + 5:.1f}" y="{_y(place) + 4:.1f}">{text(label)}</text>'


def wrapped(name: str, letters: int) -> list[str]:
    """Returns the name of a setting in at most two lines, broken after a dot or an underscore."""
    if len(name) <= letters:
        return [name]
    breaks = [place + 1 for place, letter in enumerate(name) if letter in "._" and place < letters]
    at = max(breaks, default=letters)
    return [name[:at], _cut(name[at:], letters)]


def curves(
    lines: Sequence[Polyline],
    quantity: str,
    over: str = STEPS,
    bands: Sequence[Band] = (),
    levels: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """Returns lines of values over steps. what, over: the two quantities; lines: as in `parallel`, of steps and
    values. bands: areas below the lines. levels: values that a dashed line marks, by their names."""
    last = max(x for _, line in lines for x, _ in line)
    dashed = {f"{name} {short(level)}": [(0.0, level), (last, level)] for name, level in levels.items()}
    lines = [*((Line(about, None, "failed"), ends) for about, ends in dashed.items()), *lines]
    points = [point for _, line in lines for point in line]
    points += [(x, y) for band in bands for x, *ends in band.points for y in ends]
    low, high = min(y for _, y in points), max(y for _, y in points)
    heights = round_numbers(low, high)
    along, up = Axis(over, "linear", (0.0, last)), Axis(quantity, "linear", (heights[0], heights[-1]))
    parts = list(_grid(along, up, heights))

    def placed(path: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(_x(along.place(x)), _y(up.place(y))) for x, y in path]

    for band in bands:
        around = [(x, high) for x, _, high in band.points] + [(x, low) for x, low, _ in reversed(band.points)]
        parts.append(f'<path class="band" style="fill:var({tone(band.tone)})" d="{_way(placed(around))}Z"/>')
    for line, path in reversed(lines):
        parts.append(_path(line, placed(path)))
    return _svg(WIDTH, parts, len(lines))


def _grid(along: Axis, up: Axis, heights: Sequence[float]) -> Iterator[str]:
    """Yields the names of two axes, the rules at some heights, and the numbers at both."""
    yield f'<text class="name" x="{SIDE}" y="{TOP - 16}">{text(up.name)}, over {text(along.name)}</text>'
    for value in heights:
        y = _y(up.place(value))
        yield f'<line class="rule" x1="{SIDE}" x2="{WIDTH - SIDE}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{SIDE - 6}" y="{y + 4:.1f}" text-anchor="end">{brief(value)}</text>'
    for value in _steps(*along.values):
        yield f'<text x="{_x(along.place(value)):.1f}" y="{HEIGHT - 4}" text-anchor="middle">{brief(value)}</text>'


def _x(place: float) -> float:
    return SIDE + (WIDTH - 2 * SIDE) * place


def _y(place: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - place)


def tone(number: int) -> str:
    """Returns the name of the CSS variable of a color of TONES; they repeat."""
    return f"--tone-{number % len(TONES)}"


def legend(names: Sequence[str]) -> str:
    """Returns names beside the colors of TONES, in their order."""
    entries = "".join(f"<span>{_swatch(number)}{text(name)}</span>" for number, name in enumerate(names))
    return f'<div class="legend">{entries}</div>'


def _swatch(number: int) -> str:
    color = f"var({tone(number)})"
    if number < len(TONES):
        return f'<i class="swatch" style="background:{color}"></i>'
    dashes = f"repeating-linear-gradient(90deg,{color} 0 .5rem,transparent .5rem .75rem)"
    return f'<i class="swatch" style="background:{dashes}"></i>'


def _way(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _path(line: Line, points: Sequence[tuple[float, float]]) -> str:
    way, styles = _way(points), []
    if len(points) == 1:  # a dot
        way += "h.1"
        styles.append("stroke-linecap:round;stroke-width:7")
    kinds, stroke = [line.kind] if line.kind else [], ""
    if line.tone is not None:
        styles.append(f"stroke:var({tone(line.tone)})")
        kinds += ["dashed"] if line.tone >= len(TONES) else []
    elif line.share is not None:
        stroke = f' stroke="{color(line.share)}"'
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    style = f' style="{";".join(styles)}"' if styles else ""
    return f'<path{kind}{style}{stroke} d="{way}"><title>{text(line.about)}</title></path>'


def _svg(width: int, parts: Sequence[str], lines: int) -> str:
    many = ' class="many"' if lines >= MANY else ""
    return (
        f'<div class="scroll"><svg{many} viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" role="img">'
        f"{''.join(parts)}</svg></div>"
    )
