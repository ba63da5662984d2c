"""Parallel coordinates as SVG, inside a page: their text takes its colors, light or dark."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from framework.pages.html_page import asset, text
from framework.screen.formatting import short

WIDTH, HEIGHT = 960, 380
"""Size in pixels, also of a chart in a notebook; a figure with many axes is wider."""
TOP, BOTTOM, SIDE = 52, 22, 56
"""Margins in pixels."""
LEAST_GAP = 120
"""Smallest number of pixels between two axes."""
PIXELS_PER_LETTER = 6.6
MOST_LABELS = 12
"""Number of values of a list that are named at its axis."""
LONGEST_LABEL = 14
MANY = 40
"""Least number of lines that are drawn thin."""
STOPS = ((0x3B, 0x7D, 0xD8), (0x8A, 0x6F, 0xC0), (0xD0, 0x56, 0x8A), (0xE8, 0x74, 0x3B))
"""Colors from the worst to the best line: of medium lightness, for light and dark pages."""
STYLE = asset("svg.css")


class Line(NamedTuple):
    """Style and tooltip of a line."""

    about: str
    """Text of the tooltip."""
    share: float | None
    """Its color: 0 for the worst line, 1 for the best; None: it has no score."""
    kind: str = ""
    """first, pale, failed, or nothing."""


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
        inner = _powers(*ends) if self.kind == "log" else steps(*ends)
        for value in ends if ends[0] < ends[1] else ends[:1]:
            yield self.place(value), short(value)
        for value in inner:
            if 0.07 < self.place(value) < 0.93:
                yield self.place(value), short(value)


def _powers(low: float, high: float) -> list[float]:
    """Returns the powers of ten between two numbers."""
    return [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def steps(low: float, high: float) -> list[float]:
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
        points = [(SIDE + gap * n, height_of(axis.place(value))) for n, (axis, value) in crossed if value is not None]
        if len(points) > 1:
            parts.append(_path(line, points))
    for number, axis in enumerate(axes):
        parts += _axis(axis, SIDE + gap * number, int((gap - 10) / PIXELS_PER_LETTER))
    return _svg(width, parts, len(lines))


def _axis(axis: Axis, x: float, letters: int) -> Iterator[str]:
    yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{height_of(1):.1f}" y2="{height_of(0):.1f}"/>'
    lines = wrapped(axis.name, letters)
    for number, part in enumerate(lines):
        y = TOP - 12 - 14 * (len(lines) - 1 - number)
        yield f'<text class="name" x="{x:.1f}" y="{y}" text-anchor="middle">{text(part)}</text>'
    for place, label in axis.ticks():
        yield f'<text class="tick" x="{x + 5:.1f}" y="{height_of(place) + 4:.1f}">{text(label)}</text>'


def wrapped(name: str, letters: int) -> list[str]:
    """Returns the name of a setting in at most two lines, broken after a dot or an underscore."""
    if len(name) <= letters:
        return [name]
    breaks = [place + 1 for place, letter in enumerate(name) if letter in "._" and place < letters]
    at = max(breaks, default=letters)
    return [name[:at], _cut(name[at:], letters)]


def height_of(place: float) -> float:
    """Returns the pixels from the top to a place on an axis, from 0 to 1."""
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - place)


def _path(line: Line, points: Sequence[tuple[float, float]]) -> str:
    way = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    kind = f' class="{line.kind}"' if line.kind else ""
    stroke = "" if line.share is None else f' stroke="{color(line.share)}"'
    return f'<path{kind}{stroke} d="{way}"><title>{text(line.about)}</title></path>'


def _svg(width: int, parts: Sequence[str], lines: int) -> str:
    many = " many" if lines >= MANY else ""
    return (
        f'<div class="scroll"><svg class="parallel{many}" viewBox="0 0 {width} {HEIGHT}" width="{width}" '
        f'height="{HEIGHT}" role="img">{"".join(parts)}</svg></div>'
    )
