"""Files of one line per row, CSV or JSON, that continue without a seam after a resume."""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np

from config.read.opening import regular
from config.read.paths import as_written
from framework.disk.atomic import naming, sync_folder
from framework.errors import TaskDirError

FLUSH_SECONDS = 2.0
"""Seconds between two writes of the waiting rows while training, so that a person can watch the file grow."""
FLUSH_BYTES = 2**20
"""Number of waiting bytes at which they are written at once."""
_BLOCK = 2**20


class LineLog(ABC):
    """Appends rows to a file, a line each."""

    def __init__(self, path: Path, header: str = "", needed: bool = True) -> None:
        """needed: False for a log that no training depends on and that holds no data: a resume continues without the
        rows that are lost, and says so."""
        self.path, self.needed = path, needed
        self._process = os.getpid()
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
        """Writes the header of a new file, or checks that of an old one. The name of either is durable then: nothing
        else tells whether the process that created it has come so far."""
        with naming(self.path):
            self._file.seek(0)
            first = self._file.read(len(header)) or b""
            if first == header:
                self._size = os.fstat(self._file.fileno()).st_size
                self._crc = checksum(self._file, self._size)
            elif header.startswith(first):
                self._file.truncate(0)  # a crash cut off the header itself
                self._write(header)
            else:
                raise TaskDirError(
                    f"{as_written(self.path)} has other columns than this run; move it away, or start a new run"
                )
        sync_folder(self.path.parent)

    @abstractmethod
    def _lines(self, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        """Returns rows as lines, without their ends."""

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds a row."""
        self.extend([row])

    def extend(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds rows."""
        if rows:
            self.append_line("\n".join(self._lines(rows)))

    def append_line(self, line: str) -> None:
        """Adds a row as its line in the file, in ASCII and without its end, or several as their lines."""
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
        if os.getpid() != self._process:  # a forked child has copies of the waiting rows, which its parent writes
            return
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
        checksum; None compares nothing. ValueError if no row ends there, unless the log is not needed: then the whole
        rows before it are kept."""
        self._rows.clear()
        self.waiting = 0
        end = last_end(self._file, min(position, os.fstat(self._file.fileno()).st_size))
        if self.needed and (end < position or position < self._least):
            raise ValueError(
                f"{as_written(self.path)} is shorter than at the checkpoint or was edited; a row cannot end at "
                f"{position}"
            )
        self._file.truncate(end)
        self._size, self._crc = end, checksum(self._file, end)
        return end == position and crc in (None, self._crc)

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
        super().__init__(path, ",".join(self.columns) + "\n")

    def _lines(self, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        """Returns rows; columns that one does not name stay empty."""
        if unknown := set().union(*rows).difference(self.columns):
            raise ValueError(f"{self.path.name} has no column {sorted(unknown)}")
        columns = [_texts([row.get(name) for row in rows]) for name in self.columns]
        return map(",".join, zip(*columns, strict=True))


class JsonLog(LineLog):
    """Writes a JSON object per line."""

    def _lines(self, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        return map(json.dumps, rows)


def last_end(file: BinaryIO, size: int) -> int:
    """Returns the end of the last whole line in the first `size` bytes of a file."""
    while size > 0:
        start = max(size - _BLOCK, 0)
        file.seek(start)
        if (line := file.read(size - start).rfind(b"\n")) >= 0:
            return start + line + 1
        size = start
    return 0


def checksum(file: BinaryIO, size: int) -> int:
    """Returns the CRC-32 of the first `size` bytes of a file."""
    file.seek(0)
    crc = 0
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        crc, size = crc32(block, crc), size - len(block)
    return crc


def _texts(values: Sequence[Any]) -> list[str]:
    """Returns the cells of a column."""
    if len(set(map(id, values))) == 1:  # the metrics are one object in all rows between two updates
        return [_text(values[0])] * len(values)
    plain = set(map(type, values)) in ({int}, {float})
    return list(map(repr if plain else _text, values))


def _text(value: Any) -> str:
    """Returns a cell: floats as the shortest text that gives the same float back."""
    if value is None:
        return ""
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return str(int(value))
    return repr(float(value))
