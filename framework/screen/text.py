"""Lines that fit the width of a terminal."""

import re
import textwrap

from config.program import PROGRAM
from config.tell import cells

_COMMAND = re.compile(rf"(?:^|(?<=\s)){re.escape(PROGRAM)} ")
"""Beginning of a command in a text."""


def cut(text: str, width: int) -> str:
    """Returns a text in a width, without its last words where it is longer."""
    if cells.cells(text) <= width:
        return text
    text = text[:width]
    while text and (cells.cells(text) > width - 2 or (text[-1].isascii() and not text[-1].isspace() and " " in text)):
        text = text[:-1]
    return f"{text.rstrip(' ,:|')} …"


def wrapped(text: str, width: int) -> list[str]:
    """Returns a text as lines of whole words, each after the first below the second column of a row of a table, or two
    columns in. A command stays in one line, which the terminal wraps: so it can be copied."""
    return [part for line in text.split("\n") for part in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> list[str]:
    if cells.cells(line) <= width or "\x1b" in line:
        return [line]
    match = re.match(r"(?:\S+(?: \S+){0,3})? {2,}", line)
    label = match[0] if match and cells.cells(match[0]) <= width // 3 else ""
    indent = " " * (cells.cells(label) or 2)
    command = _COMMAND.search(line)
    if command and not line[: command.start()].strip(" "):
        return [line]
    prose, rest = (line[: command.start()], line[command.start() :]) if command else (line, "")
    if match and len(prose) <= match.end():  # a row that is a command
        return [line]
    if prose.isascii():
        lines = textwrap.wrap(
            prose, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
            replace_whitespace=False, drop_whitespace=True,
        )  # fmt: skip
    else:
        [first, *others] = cells.wrapped(prose[len(label) :], width - len(indent))
        lines = [label + first, *(indent + other for other in others)]
    return [*lines, indent + rest] if rest else lines
