"""Whole episodes out of pieces."""

from collections.abc import Iterable, Iterator

import numpy as np

from framework.dataset.columns import Columns, joined, rows


def episodes(pieces: Iterable[Columns]) -> Iterator[Columns]:
    """Yields the transitions of each episode."""
    begun: list[Columns] = []
    for piece in pieces:
        start = 0
        for end in (np.flatnonzero(piece["terminated"] | piece["truncated"]) + 1).tolist():
            yield joined([*begun, rows(piece, slice(start, end))])
            begun, start = [], end
        if start < len(piece["reward"]):
            begun.append(rows(piece, slice(start, None)))
