"""Reads what runs write while they write it: a column of a table that grows."""

import math
import os
from pathlib import Path

from framework.disk.lines import opened

MOST_POINTS = 400
"""Number of points of a line; a page cannot show more of them."""
BLOCK = 2**22
"""Bytes of a table that are read at once: some 50 milliseconds of work."""
SEEN = 64
"""Bytes before the place of reading that are compared: a resume may have cut the file off and written other rows."""
COUNTS = ("step", "update")
Point = tuple[float, ...]
"""Environment step, update, mean of the values; of a line on which some belong to the same step also their number, the
lowest and the highest."""


class ThinnedCurve:
    """Points of a line that grows, at most MOST_POINTS: when there are more, each two neighbors become their mean.
    Values of the same step and update are one point."""

    def __init__(self) -> None:
        self.each = 1
        """Number of different steps in a point, except in the last one."""
        self._together = False
        """True if some values belong to the same step."""
        self._points: list[list[float]] = []
        """Step and update of the last value of each point, number of its steps and of its values, their sum, the lowest
        and the highest."""

    def add(self, step: float, update: float, value: float) -> None:
        """Adds a value at the end."""
        points, point = self._points, [step, update, 1, 1, value, value, value]
        if points and points[-1][:2] == point[:2]:
            self._together = True
            points[-1] = _joined(points[-1], [step, update, 0, *point[3:]])
        elif points and points[-1][2] < self.each:
            points[-1] = _joined(points[-1], point)
        else:
            points.append(point)
        if len(points) > MOST_POINTS:
            pairs = zip(points[::2], [*points[1::2], None], strict=False)
            self._points = [_joined(first, other) for first, other in pairs]
            self.each *= 2

    def points(self) -> list[Point]:
        """Returns the points; a sum that is too large for a number is left out."""
        means = [
            (step, update, total / count, *((count, *ends) if self._together else ()))
            for step, update, _, count, total, *ends in self._points
        ]
        return [point for point in means if math.isfinite(point[2])]


def _joined(first: list[float], other: list[float] | None) -> list[float]:
    if other is None:
        return first
    sums = (a + b for a, b in zip(first[2:5], other[2:5], strict=True))
    return [*other[:2], *sums, min(first[5], other[5]), max(first[6], other[6])]


class CurveTail:
    """A column of one of our CSV files over steps and updates; each read takes up what is new."""

    def __init__(self, path: Path, column: str) -> None:
        self.path, self.column = path, column
        self._begin()

    def _begin(self) -> None:
        self.columns: tuple[str, ...] = ()
        """Head of the file; empty before it is read."""
        self.line = ThinnedCurve()
        self._place = 0
        self._seen = b""
        """Last bytes before the place."""
        self._columns: tuple[int, ...] | None = None
        """Places of step, update and value in a row; None before the head is read."""

    def read(self) -> bool:
        """Reads a block of what is new. Returns True if more is waiting."""
        try:
            with opened(self.path) as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(self._place - len(self._seen))
                if size < self._place or file.read(len(self._seen)) != self._seen:
                    self._begin()
                    file.seek(0)
                block = file.read(BLOCK)
        except OSError:
            self._begin()
            return False
        whole = block[: block.rfind(b"\n") + 1] or block[: BLOCK if len(block) == BLOCK else 0]  # no line is that long
        self._take(whole.decode(errors="replace").split("\n")[:-1])
        self._place += len(whole)
        self._seen = (self._seen + whole)[-SEEN:]
        return bool(whole) and self._place < size

    def _take(self, lines: list[str]) -> None:
        if self._place == 0 and lines:
            self.columns = tuple(lines.pop(0).split(","))
            names = (*COUNTS, self.column)
            if set(names) <= set(self.columns):
                self._columns = tuple(map(self.columns.index, names))
        if self._columns is None:
            return
        for line in lines:
            cells = line.split(",")
            if len(cells) != len(self.columns):
                continue
            try:
                step, update, value = (float(cells[place]) for place in self._columns)
            except ValueError:  # no value yet
                continue
            if math.isfinite(value) and math.isfinite(step) and math.isfinite(update):
                self.line.add(step, update, value)
