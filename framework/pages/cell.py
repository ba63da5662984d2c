"""Blocks of HTML for the output of a cell of a notebook: no scripts, nothing is loaded, no styles for others."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from config.read.opening import named
from framework.archive.curves import STEPS
from framework.pages import svg
from framework.pages.html_page import asset, data_url, paragraph, text

TONES = ("#2f88c9", "#e0702a", "#0a9e75", "#c76fa3", "#a8860f", "#7f6bd0")
"""Colors of lines, in the order of svg.TONES: of medium lightness, since a picture does not know if its page is
dark."""
_VARIABLES = "".join(f"--tone-{number}: {color}; " for number, color in enumerate(TONES))
_STYLE = f"<style>\n.joystick {{ {_VARIABLES}}}\n{asset('cell.css')}</style>"
_CHART_STYLE = (
    f"svg {{ {_VARIABLES}--ink: #808894; --quiet: #808894; --line: rgba(128, 128, 128, .3); --paper: none; "
    f"--font: system-ui, sans-serif; --pale: .45; --faint: .2; }}"
    f"{asset('svg.css')}svg text {{ font-size: 15px; }} svg text.name {{ font-size: 16px; }}"
)


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
    lines: Sequence[svg.Polyline],
    names: Sequence[str],
    quantity: str,
    over: str = STEPS,
    bands: Sequence[svg.Band] = (),
    levels: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """Returns the figure of `svg.curves` below a legend, as an image: notebooks that are not trusted show images, and
    no SVG. names: of the colors, in their order. Nothing without lines."""
    if not lines:
        return ""
    drawn = re.sub(
        r"<title>.*?</title>", "", svg.curves(lines, quantity, over, bands, levels)
    )  # no pointer in an image
    whole = drawn[drawn.index("<svg") : drawn.rindex("</svg>") + len("</svg>")]
    whole = whole.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    whole = whole.replace(">", f"><style>{_CHART_STYLE}</style>", 1)
    return f'{svg.legend(names)}<img alt="{text(quantity)}" src="{data_url(whole.encode(), "image/svg+xml")}">'


class Picture:
    """A figure: a notebook shows it."""

    def __init__(self, png: bytes, subject: str = "learning curve") -> None:
        self.png, self._subject = png, subject

    def save(self, path: str | Path) -> Path:
        """Writes the picture to a file, and returns its path."""
        with open(path, "wb", opener=named) as file:
            file.write(self.png)
        return Path(path)

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"<{self._subject}, PNG of {len(self.png):,} bytes: save(path) writes it>"


def png(draw: Callable[[Path], object]) -> bytes:
    """Returns the picture that a function draws into a file."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "picture.png"
        draw(place)
        return place.read_bytes()
