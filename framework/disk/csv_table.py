"""Reads the CSV files of a run, also while another process writes them."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from config.model.arrays import Array
from config.read.opening import read_regular, regular

TAIL_BYTES = 4096
"""Upper bound of the size of a row."""
MOST_BYTES = 2**30
"""Size of the largest file that is read."""
_BLOCK_ROWS = 20_000
"""Number of rows that are texts at the same time; a text takes six times the memory of its number."""
Number = int | float | str
Row = dict[str, Number]


class Table(Sequence[Row]):
    """Rows that are kept by column, so that hundreds of thousands of them are read in seconds. The numbers of a column
    are all integers or all floats, unless some of its cells are empty or text."""

    def __init__(self, columns: dict[str, Array], broken_line: int | None = None) -> None:
        """columns: integers, floats, or objects of several types; equally many of each."""
        self._columns = columns
        self.broken_line = broken_line
        """Number of the first line of the file that has not as many cells as the first one, and is not among the rows;
        None if there is none."""
        self._count = max(map(len, columns.values()), default=0)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> "Table": ...

    def __getitem__(self, place: int | slice) -> "Row | Table":
        if isinstance(place, slice):
            return Table({name: values[place] for name, values in self._columns.items()})
        if not -self._count <= place < self._count:
            raise IndexError(place)
        return next(iter(self[place:][:1]))

    def __iter__(self) -> Iterator[Row]:
        names, values = self._columns.keys(), [column.tolist() for column in self._columns.values()]
        return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))

    def numbers(self, name: str) -> Array:
        """Returns a column as floats: NaN where it has no number, or if there is no such column."""
        values = self._columns.get(name)
        if values is None:
            return np.full(self._count, np.nan)
        if values.dtype == object:
            return np.array([np.nan if isinstance(value, str) else value for value in values], float)
        return values.astype(float)


def read_table(path: Path) -> Table:
    """Returns the rows of one of our files, numbers as numbers and an empty cell as NaN, without a torn last line."""
    names, rows, broken = _lines(path)
    blocks = [_columns(rows[at : at + _BLOCK_ROWS], len(names)) for at in range(0, len(rows), _BLOCK_ROWS)]
    columns = zip(*blocks, strict=True)  # none if there are no rows
    return Table({name: np.concatenate(parts) for name, parts in zip(names, columns, strict=False)}, broken)


def read_values(path: Path, *names: str) -> list[tuple[Number | None, ...]]:
    """Returns some columns of one of our files, row by row: None for an empty cell, which `read_table` does not tell
    from NaN. Nothing without one of the columns."""
    head, rows, _ = _lines(path)
    if not set(names) <= set(head):
        return []
    places, cells = [head.index(name) for name in names], (row.split(",") for row in rows)
    return [tuple(_number(row[place]) if row[place] else None for place in places) for row in cells]


def _lines(path: Path) -> tuple[list[str], list[str], int | None]:
    """Returns the columns and the whole rows of a file, and the number of the first line that has other cells; none if
    it cannot be read."""
    head, *lines = whole_lines(path) or [""]
    names = head.split(",") if head else []
    rows = [line for line in lines if line.count(",") == len(names) - 1]
    others = (number for number, line in enumerate(lines, start=2) if line.count(",") != len(names) - 1)
    return names, rows, None if len(rows) == len(lines) else next(others)


def whole_lines(path: Path) -> list[str]:
    """Returns the lines of a file without a torn last one; none if it cannot be read."""
    try:
        return read_regular(path, MOST_BYTES).decode(errors="replace").split("\n")[:-1]
    except OSError:
        return []


def read_csv(path: Path) -> list[Row]:
    """Returns `read_table` as a list."""
    return list(read_table(path))


def head_of(path: Path) -> list[str]:
    """Returns the columns that the first line of a file names. Raises OSError if it cannot be read."""
    return read_regular(path, MOST_BYTES).decode(errors="replace").partition("\n")[0].split(",")


def last_row(path: Path) -> Row | None:
    """Returns the newest whole row of one of our files, while another process writes it, without reading all of it."""
    try:
        with open(path, "rb", opener=regular) as file:
            names = file.readline(TAIL_BYTES)
            file.seek(max(file.tell(), os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).split(b"\n")
    except OSError:
        return None
    rows = [line for line in lines[:-1] if line.count(b",") == names.count(b",")]
    if not rows:
        return None
    cells = rows[-1].decode(errors="replace").split(",")
    return dict(zip(names.decode(errors="replace").rstrip("\n").split(","), map(_number, cells), strict=True))


def _number(text: str) -> Number:
    for kind in (int, float):
        try:
            return kind(text or "nan")
        except ValueError:
            continue
    return text


def _columns(rows: Sequence[str], count: int) -> list[Array]:
    """Returns the columns of rows with this number of cells."""
    cells = ",".join(rows).split(",")
    return [_column(cells[place::count]) for place in range(count)]


def _column(cells: Sequence[str]) -> Array:
    if "" in cells:
        if any(cells) and all(cell.isdecimal() for cell in cells if cell):
            return np.array(list(map(_number, cells)), object)  # integers stay such beside NaN
        cells = [cell or "nan" for cell in cells]
    for kind in (int, float):
        try:
            return np.fromiter(map(kind, cells), kind, len(cells))
        except (ValueError, OverflowError):
            continue
    return np.array(list(map(_number, cells)), object)
