"""Building blocks of an HTML page that loads nothing, runs no script but one of ours, and shows every text as text."""

import base64
import hashlib
import html
import itertools
import os
import re
from collections.abc import Iterable, Sequence, Sized
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from config.read.opening import read_regular
from config.read.paths import as_written
from config.read.task_files import REPORT
from config.tell.language import language, tr
from framework.disk.atomic import write_whole
from framework.pages.sentences import of_script
from framework.screen.formatting import short

MOST_ROWS = 200
"""Number of rows of a table; the CSV files have all of them."""
LETTERS_OF_A_CARD = 9
"""Number of letters that a card of usual width shows in one line."""
MOST_IMAGE_BYTES = 16 * 2**20
"""Size of the largest file that is embedded; a larger one is named only."""


def asset(*names: str) -> str:
    """Returns style sheets or scripts of this folder, one after another."""
    return "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


STYLE = asset("page.css")
CHART_STYLE, CHART_SCRIPT = asset("chart.css"), asset("elements.js", "chart.js")
"""Charts that a script draws into a page."""
_READING = ("<table class=sortable>", "<pre class=command>", '<nav class="contents"')
"""Begin of the elements that a script makes better: to be sorted, to be copied, to say where one reads."""
NUMBERS = '<script type="application/json" id="numbers">'
"""Begin of the numbers in a page that has charts."""


def scripts(body: str) -> str:
    """Returns the scripts that a body needs; nothing if it needs none. Names in it are text, and begin no element."""
    charts, reading = NUMBERS in body, any(begin in body for begin in _READING)
    drawing = ("chart.js", "curves.js", "numbers.js") if charts else ()
    return asset("elements.js", *drawing, *(("reading.js",) if reading else ())) if charts or reading else ""


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """Returns a whole page around a body of HTML, with what its charts, tables and commands need. style, script: more
    of our own; browsers run no other script."""
    policy = "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'"
    own = scripts(body) or (asset("elements.js") if script else "")
    script, style = own + script, (CHART_STYLE if NUMBERS in body else "") + style
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
        body += f"\n{of_script(script)}<script>{script}</script>"
    return (
        f'<!doctype html>\n<html lang="{language()}"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}{style}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def write(folder: Path, title: str, parts: Iterable[str], style: str = "", script: str = "") -> Path:
    """Writes the page of a run, a group or a tuning into its folder. Returns its path. parts: those below its title."""
    path = folder / REPORT
    write_whole(path, whole(title, parts, style, script))
    return path


def whole(title: str, parts: Iterable[str], style: str = "", script: str = "") -> bytes:
    """Returns the page of a run, a group or a tuning as the content of a file. parts: those below its title."""
    body = "\n".join([f"<h1>{text(title)}</h1>", *parts])
    return page(title, body, style, script).encode(errors="replace")


def text(value: Any) -> str:
    """Returns any value as harmless text."""
    if isinstance(value, bool):
        value = str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return html.escape(short(value) if isinstance(value, float) else str(value))


def _breakable(name: str) -> str:
    """Returns the name of a setting as text that may wrap after its dots and underscores."""
    return text(name).replace(".", ".<wbr>").replace("_", "_<wbr>")


class Link(NamedTuple):
    """Words that lead to another page of ours."""

    words: str
    address: str

    @property
    def element(self) -> str:
        return f'<a href="{html.escape(self.address)}">{text(self.words)}</a>'


def address(page: Path, folder: Path) -> str | None:
    """Returns the address of a page for one in another folder: its path from there. None if it does not exist."""
    try:
        return quote(Path(os.path.relpath(page, folder)).as_posix()) if page.is_file() else None
    except (OSError, ValueError):  # a path that is none; no way between two drives
        return None


def contents(sections: Iterable[str]) -> str:
    """Returns links to sections beside them; the sections alone if they are few."""
    body = "\n".join(sections)
    titles = _SECTION.findall(body)
    if len(titles) < LEAST_SECTIONS:
        return body
    links = "".join(f"<a href=#part-{number}>{title}</a>" for number, title in enumerate(titles))
    numbers = itertools.count()
    marked = _SECTION.sub(lambda match: f"<section id=part-{next(numbers)}><h2>{match[1]}</h2>", body)
    nav = f'<nav class="contents" aria-label="{tr("Contents")}">{links}</nav>'
    return f'<div class="beside">{nav}<div class="sections">\n{marked}\n</div></div>'


_SECTION = re.compile(r"<section><h2>(.*?)</h2>")
LEAST_SECTIONS = 4
"""Least number of sections of a page with a table of contents."""


def section(title: str, body: str) -> str:
    """Returns a section with its heading; nothing if the body is empty."""
    return f"<section><h2>{text(title)}</h2>{body}</section>" if body else ""


def paragraph(sentence: Any, kind: str = "") -> str:
    """Returns a paragraph; nothing for an empty sentence. kind: quiet or warning."""
    if sentence == "":
        return ""
    return f"<p class={kind}>{text(sentence)}</p>" if kind else f"<p>{text(sentence)}</p>"


def folded(summary: str, body: str, opened: bool = False) -> str:
    """Returns a body that can be folded away; nothing if it is empty."""
    return f"<details{' open' * opened}><summary>{text(summary)}</summary>{body}</details>" if body else ""


def joined(sentences: Iterable[str]) -> str:
    """Returns sentences one after another; the full stop of Chinese ones has its blank within."""
    return " ".join(sentences).replace("。 ", "。")


PARTS = {
    "first": tr("The first {count} of {total}; {file} has all of them."),
    "last": tr("The last {count} of {total}; {file} has all of them."),
    "best": tr("The best {count} of {total}; {file} has all of them."),
}
"""Which rows of a table are shown -> sentence that says so."""


def part_of(rows: Sized, part: Sized, which: str, file: str) -> str:
    """Returns a sentence that says which rows are shown, one of PARTS; empty if all are. file: the one that has all of
    them."""
    return PARTS[which].format(count=len(part), total=len(rows), file=file) if len(part) < len(rows) else ""


def command(line: str) -> str:
    """Returns a command that can be copied."""
    return f"<pre class=command>{text(line)}</pre>"


def commands(rows: Iterable[tuple[str, str]]) -> str:
    """Returns commands, each below its effect."""
    return "".join(f"{paragraph(effect)}{command(line)}" for effect, line in rows)


def cards(facts: Iterable[tuple[str, Any]]) -> str:
    """Returns a card per fact that is known; the first one stands out, and one with more letters is wider."""
    pairs = [(name, text(value)) for name, value in facts if value is not None]
    cells = ""
    for number, (name, value) in enumerate(pairs):
        kinds = " ".join(["first"] * (number == 0) + ["wide"] * (len(value) > LETTERS_OF_A_CARD))
        look = f' class="{kinds}"' if kinds else ""
        cells += f"<div{look}><dt>{text(name)}</dt><dd>{value}</dd></div>"
    return f'<dl class="facts">{cells}</dl>' if cells else ""


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table, with numbers to the right; nothing if there are no rows. A name that is a Number heads a
    column of numbers, even if all of its cells are empty. A reader can sort the rows."""
    rows = list(rows)
    if not rows:
        return ""
    columns = zip(names, zip(*rows, strict=True), strict=True)
    numeric = [isinstance(name, Number) or any(map(_is_number, column)) for name, column in columns]
    heads = "".join(
        f"<th{_NUMERIC if right else ''}>{_head(name)}</th>" for name, right in zip(names, numeric, strict=True)
    )
    cells = ((_cell(value, right) for value, right in zip(row, numeric, strict=True)) for row in rows)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    kind = " class=sortable" if len(rows) > 1 else ""
    return f'<div class="scroll"><table{kind}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _head(name: str) -> str:
    return _breakable(name) if isinstance(name, Name) else text(name)


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """Returns a table of labels and values; nothing if there are no rows."""
    body = "".join(f"<tr>{_cell(name)}{_cell(value)}</tr>" for name, value in rows)
    return f'<table class="pairs"><tbody>{body}</tbody></table>' if body else ""


class Number(str):
    """Text that is aligned like a number, such as a seed, which is copied and therefore has no separators."""

    __slots__ = ()


def plain(number: Any) -> Number | None:
    """Returns a number that is to be copied, without separators."""
    return None if number is None else Number(number)


class Name(str):
    """Name of a setting."""

    __slots__ = ()


_NUMERIC = " class=n"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _cell(value: Any, numeric: bool = False) -> str:
    """Returns a cell. numeric: True in a column of numbers, where an empty cell is aligned like them."""
    if isinstance(value, Name):
        return f"<td>{_breakable(value)}</td>"
    if isinstance(value, Link):
        return f"<td>{value.element}</td>"
    right = _is_number(value) or (value is None and numeric)
    return f"<td{_NUMERIC if right else ''}>{text('' if value is None else value)}</td>"


def image(title: str, path: Path, kind: str) -> str:
    """Returns a section with an embedded image."""
    return section(title, figure(title, path, kind))


def figure(title: str, path: Path, kind: str, drawn: bool = False) -> str:
    """Returns an embedded image; nothing without a file. drawn: True for a figure on white, which is dark on dark
    pages."""
    if not path.is_file():
        return ""
    if path.stat().st_size > MOST_IMAGE_BYTES:
        return _too_large(path)
    look = ' class="drawn"' if drawn else ""
    return f'<figure><img{look} alt="{text(title)}" src="{_data(path, kind)}"></figure>'


def video(title: str, path: Path) -> str:
    """Returns a section with an embedded MP4."""
    if not path.is_file():
        return ""
    if path.stat().st_size > MOST_IMAGE_BYTES:
        return section(title, _too_large(path))
    player = f'<video controls loop muted playsinline src="{_data(path, "video/mp4")}"></video>'
    return section(title, f"<figure>{player}</figure>")


def _too_large(path: Path) -> str:
    return paragraph(tr("{path} (too large to be shown here)", path=as_written(path)))


def _data(path: Path, kind: str) -> str:
    return data_url(read_regular(path, MOST_IMAGE_BYTES), kind)


def data_url(content: bytes, kind: str) -> str:
    """Returns an address that holds what it leads to, so that a page loads nothing."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
