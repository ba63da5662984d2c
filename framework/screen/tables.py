"""Tables of aligned columns, as lines."""

from collections.abc import Iterable, Mapping, Sequence

from config.tell.cells import cells, padded
from config.tell.language import tr

WIDTH = 80
"""Columns of the standard terminal."""
LABEL = 14
"""Columns of a label in a description."""


def aligned(rows: Iterable[Sequence[str]], right: bool = False) -> list[str]:
    """Returns rows as lines with aligned columns. right: True to align them at their right ends."""
    rows = list(rows)
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(padded(text, width, right) for text, width in zip(row, widths, strict=True)) for row in rows]


def lines(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns a table whose rows have the same heads as lines, aligned at the right. The heads are English words."""
    return aligned([list(map(tr, rows[0])), *([row[head] for head in rows[0]] for row in rows)], right=True)


def entry(label: str, text: str) -> str:
    """Returns a line of a description: a label, and a text in a second column."""
    return padded(label, LABEL) + text
