"""Files of one line per row, CSV or JSON, that continue without a seam after a resume."""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np

from framework.checkpoint.atomic import naming, read_regular, regular, sync_folder
from framework.errors import TaskDirError

FLUSH_SECONDS = 2.0
"""Seconds between two writes of the waiting rows while training, so that a person can watch the file grow."""
FLUSH_BYTES = 2**20
"""Number of waiting bytes from which on they are written at once."""
TAIL_BYTES = 4096
"""Upper bound of the size of a row."""
MOST_BYTES = 2**30
"""Size of the largest file that is read as a table."""
_BLOCK = 2**20
Number = int | float | str


class LineLog(ABC):
    """Appends rows to a file, a line each."""

    def __init__(self, path: Path, header: str = "") -> None:
        self.path = path
        self._rows: list[str] = []
        self.waiting = 0
        """Bytes of the rows that are not written yet."""
        self._next_flush = time.monotonic() + FLUSH_SECONDS
        first = header.encode()
        # unbuffered: what a failed write left behind must be known exactly
        self._file = open(path, "a+b", buffering=0, opener=regular)  # noqa: SIM115  # held until close()
        self._least = len(first)
        self._size = self._crc = 0
        try:
            self._begin(first)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, header: bytes) -> None:
        """Writes the header of a new file, or checks that of an old one."""
        with naming(self.path):
            self._file.seek(0)
            first = self._file.read(len(header)) or b""
            if first == header:
                self._size = os.fstat(self._file.fileno()).st_size
                self._crc = checksum(self._file, self._size)
                return
            if not header.startswith(first):
                raise TaskDirError(f"{self.path} has other columns than this run; move it away, or start a new run")
            self._file.truncate(0)  # a crash cut off the header itself
            self._write(header)
        sync_folder(self.path.parent)

    @abstractmethod
    def _line(self, row: Mapping[str, Any]) -> str:
        """Returns a row as a line, without its end."""

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds a row."""
        self.append_line(self._line(row))

    def append_line(self, line: str) -> None:
        """Adds a row as the line that it is in the file, in ASCII and without its end."""
        self._rows.append(line + "\n")
        self.waiting += len(line) + 1
        if self.waiting > FLUSH_BYTES or time.monotonic() >= self._next_flush:
            try:
                self.flush()
            except OSError:
                self._next_flush = time.monotonic() + FLUSH_SECONDS  # the rows wait; an explicit flush is loud

    def flush(self) -> None:
        """Writes the waiting rows. After an OSError the file ends where it did, and the rows still wait."""
        self._write("".join(self._rows).encode())
        self._rows.clear()
        self.waiting = 0
        self._next_flush = time.monotonic() + FLUSH_SECONDS

    def _write(self, data: bytes) -> None:
        written = 0
        with naming(self.path):
            try:
                while written < len(data):
                    written += self._file.write(data[written:])
            except OSError:
                self._file.truncate(self._size)
                raise
        self._size += len(data)
        self._crc = crc32(data, self._crc)

    def position(self) -> int:
        """Returns the size in bytes, all of them on the disk: the state for an exact resume."""
        self.flush()
        with naming(self.path):
            os.fsync(self._file.fileno())
        return self._size

    @property
    def size(self) -> int:
        """Size in bytes, with the waiting rows."""
        return self._size + self.waiting

    @property
    def crc(self) -> int:
        """CRC-32 of everything up to `position()`."""
        return self._crc

    def restore(self, position: int, crc: int | None = None) -> bool:
        """Drops every row after this position. Returns False if those before it are no longer the bytes of this
        checksum; None compares nothing."""
        self._rows.clear()
        self.waiting = 0
        self._file.seek(max(position - 1, 0))
        if position < self._least or (position and self._file.read(1) != b"\n"):
            raise ValueError(
                f"{self.path} is shorter than at the checkpoint or was edited; a row cannot end at {position}"
            )
        self._file.truncate(position)
        self._size, self._crc = position, checksum(self._file, position)
        return crc in (None, self._crc)

    def close(self) -> None:
        """Writes the waiting rows and closes the file."""
        if self._file.closed:
            return
        try:
            self.flush()
        finally:
            self._file.close()


class CsvLog(LineLog):
    """Writes a CSV file. Two equal runs write equal bytes, so no column may hold a time of day."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._known = frozenset(columns)
        self._last: dict[str, tuple[Any, str]] = {}
        """Latest value of each column and its text: the metrics are the same in all rows between two updates."""
        super().__init__(path, ",".join(self.columns) + "\n")

    def _line(self, row: Mapping[str, Any]) -> str:
        """Returns a row; columns that it does not name stay empty."""
        if not row.keys() <= self._known:
            raise ValueError(f"{self.path.name} has no column {sorted(row.keys() - self._known)}")
        return ",".join(map(self._cell, self.columns, map(row.get, self.columns)))

    def _cell(self, name: str, value: Any) -> str:
        known = self._last.get(name)
        if known is not None and known[0] is value:
            return known[1]
        text = _text(value)
        self._last[name] = (value, text)
        return text


class JsonLog(LineLog):
    """Writes a JSON object per line."""

    def _line(self, row: Mapping[str, Any]) -> str:
        return json.dumps(row)


def checksum(file: BinaryIO, size: int) -> int:
    """Returns the CRC-32 of the first `size` bytes of a file."""
    file.seek(0)
    crc = 0
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        crc, size = crc32(block, crc), size - len(block)
    return crc


def _text(value: Any) -> str:
    """Returns a cell: floats as the shortest text that gives the same float back."""
    if value is None:
        return ""
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return str(int(value))
    return repr(float(value))


def read_csv(path: Path) -> list[dict[str, Number]]:
    """Returns the rows of one of our files, numbers as numbers and an empty cell as NaN, without a torn last line."""
    try:
        *lines, _torn = read_regular(path, MOST_BYTES).decode(errors="replace").split("\n")
    except OSError:
        return []
    if not lines:
        return []
    names = lines[0].split(",")
    rows = (line.split(",") for line in lines[1:])
    return [dict(zip(names, map(_number, row), strict=True)) for row in rows if len(row) == len(names)]


def last_row(path: Path) -> dict[str, Number] | None:
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
