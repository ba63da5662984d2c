"""Tables of aligned columns, as lines."""

from collections.abc import Iterable, Mapping, Sequence

WIDTH = 80
"""Columns of the standard terminal."""


def aligned(rows: Iterable[Sequence[str]], right: bool = False) -> list[str]:
    """Returns rows as lines with aligned columns. right: True to align them at their right ends."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    fit = str.rjust if right else str.ljust
    return ["  ".join(map(fit, row, widths)) for row in rows]


def lines(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns a table whose rows have the same heads as lines, aligned at the right."""
    return aligned([list(rows[0]), *([row[head] for head in rows[0]] for row in rows)], right=True)
