"""CSV files that continue as one curve after a resume."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FLUSH_SECONDS = 2.0
"""Rows reach the file at least this often while training, so that a person can watch it grow."""
TAIL_BYTES = 4096
"""A row is much shorter than this."""
Number = int | float | str


class CsvLog:
    """A CSV file that only grows. Two equal runs write equal bytes, so no column may hold a time of day."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, tuple(columns)
        self._rows: list[str] = []
        self._next_flush = time.monotonic() + FLUSH_SECONDS
        header = (",".join(self.columns) + "\n").encode()
        # unbuffered: what a failed write left behind must be known exactly
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # held until close()
        self._size = self._begin(header)
        self._least = len(header)

    def _begin(self, header: bytes) -> int:
        """Write the header of a new file, or check that of an old one. Returns the size in bytes."""
        size = os.fstat(self._file.fileno()).st_size
        with open(self.path, "rb") as old:
            first = old.readline()
        if first == header:
            return size
        if first.endswith(b"\n"):
            raise ValueError(f"{self.path} has other columns than this run writes; move it away, or start a new run")
        self._file.truncate(0)  # a crash cut off the header itself
        self._file.write(header)
        return len(header)

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row; columns that it does not name stay empty."""
        if not row.keys() <= set(self.columns):
            raise ValueError(f"{self.path.name} has no column {sorted(row.keys() - set(self.columns))}")
        self._rows.append(",".join(_text(row.get(name)) for name in self.columns) + "\n")
        if time.monotonic() >= self._next_flush:
            try:
                self.flush()
            except OSError:
                self._next_flush = time.monotonic() + FLUSH_SECONDS  # the rows wait; an explicit flush is loud

    def flush(self) -> None:
        """WorkerHandle all rows to the system. After an OSError the file ends where it did, and the rows still wait."""
        data = "".join(self._rows).encode()
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError:
            self._file.truncate(self._size)
            raise
        self._size += len(data)
        self._rows.clear()
        self._next_flush = time.monotonic() + FLUSH_SECONDS

    def position(self) -> int:
        """Bytes of the file, which are on the disk now: the state for an exact resume."""
        self.flush()
        os.fsync(self._file.fileno())
        return self._size

    def restore(self, position: int) -> None:
        """Forget every row that was written after this position."""
        self._rows.clear()
        with open(self.path, "rb") as file:
            file.seek(max(position - 1, 0))
            whole = file.read(1) == b"\n"
        if position < self._least or not whole:
            raise ValueError(
                f"{self.path} is shorter than at the checkpoint or was edited; a row cannot end at {position}"
            )
        self._file.truncate(position)
        self._size = position

    def close(self) -> None:
        """Write what waits and let go of the file."""
        if self._file.closed:
            return
        try:
            self.flush()
        finally:
            self._file.close()


def _text(value: Any) -> str:
    """A cell: floats as the shortest text that gives the same float back."""
    if value is None:
        return ""
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return str(int(value))
    return repr(float(value))


def read_csv(path: Path) -> list[dict[str, Number]]:
    """The rows of one of our files, numbers as numbers, an empty cell as NaN; a torn last line is left out."""
    try:
        *lines, _torn = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
    if not lines:
        return []
    names = lines[0].split(",")
    rows = (line.split(",") for line in lines[1:])
    return [dict(zip(names, map(_number, row), strict=True)) for row in rows if len(row) == len(names)]


def last_row(path: Path) -> dict[str, Number] | None:
    """The newest whole row of one of our files while another process writes it, without reading all of it."""
    try:
        with open(path, "rb") as file:
            names = file.readline()
            file.seek(max(file.tell(), os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read().split(b"\n")
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
