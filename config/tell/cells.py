"""Text in the cells of a terminal, of which a Chinese character takes two."""

import re
import textwrap
import unicodedata

_WIDE = "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6"
_NEVER_FIRST = "，。、：；！？）》”’"
"""Marks that begin no line."""
_PIECE = re.compile(rf" +|（*(?:[{_WIDE}]|[^ {_WIDE}]+)[{_NEVER_FIRST}]*")
"""Piece of a text that stays on one line: a word, or a Chinese character, with the marks behind it."""


def cells(text: str) -> int:
    """Returns the number of cells that a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def padded(text: str, width: int, right: bool = False) -> str:
    """Returns a text with blanks behind it, or with `right` before it, so that it takes a number of cells."""
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks


def wrapped(text: str, width: int) -> list[str]:
    """Returns the lines of a paragraph, broken between words and between Chinese characters."""
    if text.isascii():
        return textwrap.wrap(text, width)
    lines, line = [], ""
    for piece in _PIECE.findall(" ".join(text.split())):
        if line and cells(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line else lines
