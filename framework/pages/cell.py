"""Blocks of HTML for the output of a cell of a notebook: no scripts, nothing is loaded, no styles for others."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from config.read.opening import named
from config.tell.language import tr
from config.tell.system_errors import reason_of
from framework.archive.curves import STEPS, Array, shown
from framework.errors import JoystickError
from framework.pages import svg
from framework.pages.charts import Line
from framework.pages.figures import FORMATS
from framework.pages.html_page import asset, data_url, paragraph, text
from framework.pages.svg import HEIGHT, SIDE, TOP, WIDTH, height_of

COLORS = ("#2f88c9", "#e0702a", "#0a9e75", "#c76fa3", "#a8860f", "#7f6bd0")
"""Colors of lines, in the order of those of a page: of medium lightness, since a picture does not know if its page is
dark."""
_STYLE = f"<style>\n{asset('cell.css')}</style>"
_CHART_STYLE = (
    "text { fill: #808894; font: 15px system-ui, sans-serif; } text.name { font-size: 16px; } "
    ".rule { stroke: rgba(128, 128, 128, .3); } .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; } "
    ".first { stroke-width: 3.5; } .pale { opacity: .45; stroke-width: 1.2; } .band { stroke: none; opacity: .2; } "
    ".level { stroke: #808894; stroke-dasharray: 3 4; } .again { stroke-dasharray: 8 4; }"
)
Point = tuple[float, float]


def block(title: str, where: object, *parts: str) -> str:
    """Returns a block with a title and a quiet line below it. parts: HTML."""
    return "\n".join(
        [_STYLE, '<div class="joystick">', f"<b>{text(title)}</b>", paragraph(where, "quiet"), *parts, "</div>"]
    )


def embedded(content: bytes, kind: str) -> str:
    """Returns an image or a video as HTML that loads nothing. kind: its MIME type."""
    source = data_url(content, kind)
    if "video" in kind:
        return f'<video controls loop muted src="{source}"></video>'
    return f'<img alt="" class="drawn" src="{source}">'


def bar(fraction: float) -> str:
    """Returns a bar that is filled to a fraction."""
    return f'<div class="track"><div style="width:{100 * min(1.0, max(0.0, fraction)):.1f}%"></div></div>'


def chart(
    lines: Sequence[Line], quantity: str, over: str = STEPS, levels: Mapping[str, float] = MappingProxyType({})
) -> str:
    """Returns a chart below its legend, as an image: notebooks that are not trusted show images, and no SVG. over: the
    axis; levels: values that lines across mark, by names. Nothing without lines."""
    drawn = [_Drawn.of(line, over) for line in lines if over in line.axes]
    drawn = [line for line in drawn if line.points]
    if not drawn:
        return ""
    last = max(x for line in drawn for x, _ in line.points)
    values = [y for line in drawn for _, y in (*line.points, *line.band)]
    heights = svg.round_numbers(min(*values, *levels.values()), max(*values, *levels.values()))
    along = svg.Axis(tr(over), "linear", (0.0, last))
    up = svg.Axis(shown(quantity), "linear", (heights[0], heights[-1]))

    def way(points: Iterable[Point]) -> str:
        places = ((SIDE + (WIDTH - 2 * SIDE) * along.place(x), height_of(up.place(y))) for x, y in points)
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)

    parts = list(_grid(along, up, heights))
    parts += [f'<path class="band" fill="{line.color}" d="{way(line.band)}Z"/>' for line in drawn if line.band]
    parts += [f'<path class="level" d="{way([(0.0, level), (last, level)])}"/>' for level in levels.values()]
    for line in reversed(drawn):
        dot = "h.1" if len(line.points) == 1 else ""
        ends = ' style="stroke-linecap:round;stroke-width:7"' if dot else ""
        parts.append(f'<path class="{line.kinds}" stroke="{line.color}"{ends} d="{way(line.points)}{dot}"/>')
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    whole = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_CHART_STYLE}</style>{"".join(parts)}</svg>'
    return f'{_legend(lines)}<img alt="{text(up.name)}" src="{data_url(whole.encode(), "image/svg+xml")}">'


class _Drawn(NamedTuple):
    """A line as it is drawn over one axis."""

    color: str
    kinds: str
    """Classes of its style."""
    points: list[Point]
    band: list[Point]
    """Outline of the area around it; empty without one."""

    @classmethod
    def of(cls, line: Line, over: str) -> "_Drawn":
        number = line.color if isinstance(line.color, int) else 0
        kinds = ["line", *filter(None, [line.kind]), *(["again"] if number >= len(COLORS) else [])]
        points = _finite(line.axes[over], line.values)
        band: list[Point] = []
        if line.low is not None and line.high is not None:
            band = [*_finite(line.axes[over], line.high), *reversed(_finite(line.axes[over], line.low))]
        return cls(COLORS[number % len(COLORS)], " ".join(kinds), points, band)


def _finite(x: Array, y: Array) -> list[Point]:
    some = np.isfinite(x) & np.isfinite(y)
    return list(zip(x[some].tolist(), y[some].tolist(), strict=True))


def _grid(along: svg.Axis, up: svg.Axis, heights: Sequence[float]) -> Iterator[str]:
    """Yields the names of two axes, the rules at some heights, and the numbers at both."""
    names = tr("{quantity}, over {axis}", quantity=up.name, axis=along.name)
    yield f'<text class="name" x="{SIDE}" y="{TOP - 16}">{text(names)}</text>'
    for value in heights:
        y = height_of(up.place(value))
        yield f'<path class="rule" d="M{SIDE} {y:.1f}H{WIDTH - SIDE}"/>'
        yield f'<text x="{SIDE - 6}" y="{y + 4:.1f}" text-anchor="end">{svg.brief(value)}</text>'
    for value in svg.steps(*along.values):
        x = SIDE + (WIDTH - 2 * SIDE) * along.place(value)
        yield f'<text x="{x:.1f}" y="{HEIGHT - 4}" text-anchor="middle">{svg.brief(value)}</text>'


def _legend(lines: Sequence[Line]) -> str:
    """Returns the names of the series beside their colors."""
    colors = {line.series or line.name: line.color for line in lines}
    entries = "".join(f"<span>{_swatch(color)}{text(name)}</span>" for name, color in colors.items())
    return f'<div class="legend">{entries}</div>'


def _swatch(number: int | str | None) -> str:
    number = number if isinstance(number, int) else 0
    color = COLORS[number % len(COLORS)]
    dashes = f"repeating-linear-gradient(90deg,{color} 0 .5rem,transparent .5rem .75rem)"
    return f'<i class="swatch" style="background:{color if number < len(COLORS) else dashes}"></i>'


class Picture:
    """A figure: a notebook shows it."""

    def __init__(self, draw: Callable[[Path], object], subject: str = tr("learning curve")) -> None:
        """draw: draws the figure into a file, in the format of its ending."""
        self.png, self._draw, self._subject = file_of(draw), draw, subject

    def save(self, path: str | Path) -> Path:
        """Writes the figure to a file in the format of its ending, .png, .pdf or .svg, or without one as .png, and
        returns the path. Raises JoystickError if that fails, and for another ending."""
        path = Path(path)
        ending = path.suffix.lower()
        if ending not in ("", *FORMATS):
            raise JoystickError(
                "{path}: a figure is saved as {formats}; name it {name}",
                path=path,
                formats=tr(" or ").join(FORMATS),
                name=path.with_suffix(".png"),
            )
        content = self.png if ending in ("", ".png") else file_of(self._draw, ending)
        try:
            with open(path, "wb", opener=named) as file:
                file.write(content)
        except OSError as error:
            raise JoystickError("{path} cannot be written: {error}", path=path, error=reason_of(error)) from None
        return path

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return tr("<{subject}, PNG of {size:,} bytes: save(path) writes it>", subject=self._subject, size=len(self.png))


def file_of(draw: Callable[[Path], object], ending: str = ".png") -> bytes:
    """Returns the file that a function draws into a path with this ending."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / f"figure{ending}"
        draw(place)
        return place.read_bytes()
