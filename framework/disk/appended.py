"""Files that are only appended to, and that a resume cuts back to its checkpoint."""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, ClassVar
from zlib import crc32

from config.read.opening import regular
from config.read.paths import as_written
from config.tell.language import tr
from framework.disk.atomic import naming, sync_folder
from framework.errors import TaskDirError

FLUSH_SECONDS = 2.0
"""Seconds between two writes of the waiting rows while training, so that a person can watch the file grow."""
FLUSH_BYTES = 2**20
"""Number of waiting bytes at which they are written at once."""
MOST_NAMES = 8
"""Number of columns that an error names."""
_BLOCK = 2**20


class AppendedFile:
    """A file whose end is known to the byte: what a failed write leaves behind is cut off."""

    TAIL: ClassVar[bytes] = b""
    """Last bytes of a file, which the next write overwrites."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = os.getpid()
        self._parts: list[bytes] = []
        self.waiting = 0
        """Bytes that are not written yet."""
        self._size = self._crc = 0
        self._is_new = not path.exists()
        # unbuffered, so that a write and its tail are one write
        mode = "a+b" if not self.TAIL else "w+b" if self._is_new else "r+b"
        self._file: Any = open(path, mode, buffering=0, opener=regular)  # noqa: SIM115  # held until close()

    def put(self, data: bytes) -> None:
        """Adds bytes, which wait for the next flush."""
        self._parts.append(data)
        self.waiting += len(data)

    def flush(self) -> None:
        """Writes the waiting bytes. After an OSError the file ends where it did, and they still wait."""
        if self._parts:
            self._write(b"".join(self._parts))
            self._forget()

    def _forget(self) -> None:
        self._parts.clear()
        self.waiting = 0

    def _write(self, data: bytes) -> None:
        """Writes bytes and the tail over the last tail."""
        if os.getpid() != self._process:  # a forked child has copies of the waiting bytes, which its parent writes
            return
        whole, count = data + self.TAIL, 0
        with naming(self.path):
            try:
                if self.TAIL:
                    self._file.seek(self._size)
                while count < len(whole):
                    count += self._file.write(whole[count:])
            except OSError:
                self._file.truncate(self._size)
                if self.TAIL:
                    self._file.seek(self._size)
                    self._file.write(self.TAIL)
                raise
        self._size += len(data)
        self._crc = crc32(data, self._crc)

    def _cut(self, end: int) -> None:
        """Drops the waiting bytes, and everything after `end`, which is within the file."""
        self._forget()
        self._file.truncate(end)
        self._size, self._crc = end, checksum(self._file, end)

    def _abandon(self) -> None:
        """Closes a file that could not be begun, and removes it if it is new: the next one may have another name."""
        self._file.close()
        if self._is_new:
            with suppress(OSError):
                self.path.unlink()

    def position(self) -> int:
        """Returns the size in bytes, all of them on the disk: the state for an exact resume."""
        self.flush()
        with naming(self.path):
            os.fsync(self._file.fileno())
        return self._size

    @property
    def size(self) -> int:
        """Size in bytes, with the waiting ones."""
        return self._size + self.waiting

    @property
    def crc(self) -> int:
        """CRC-32 of everything up to `position()`."""
        return self._crc

    def close(self) -> None:
        """Writes the waiting bytes and closes the file."""
        if self._file.closed:
            return
        try:
            self.flush()
        finally:
            self._file.close()


class LineLog(AppendedFile, ABC):
    """Appends rows to a file, a line each."""

    def __init__(self, path: Path, header: str = "", needed: bool = True) -> None:
        """needed: False for a log that no training depends on and that holds no data: a resume continues without the
        rows that are lost, and says so."""
        super().__init__(path)
        self.needed = needed
        self._next_flush = time.monotonic() + FLUSH_SECONDS
        first = header.encode()
        self._least = len(first)
        try:
            self._begin(first)
        except BaseException:
            self._abandon()
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
                    "{path} has other columns than this run ({difference}); resume with the settings that it had, "
                    "move the file away, or begin a branch or a new run (docs/resume.md)",
                    path=as_written(self.path),
                    difference=self._difference(header),
                )
        sync_folder(self.path.parent)

    def _difference(self, header: bytes) -> str:
        """Returns in words how the columns of the file differ from those of a header."""
        self._file.seek(0)
        line = self._file.readline(_BLOCK).decode(errors="replace").rstrip("\r\n")
        theirs, ours = line.split(","), header.decode().rstrip("\r\n").split(",")
        more = [name for name in theirs if name not in ours]
        less = [name for name in ours if name not in theirs]
        texts = [tr("it has {names}", names=_some(more))] if more else []
        texts += [tr("it has no {names}", names=_some(less))] if less else []
        return tr(", and ").join(texts) or tr("in another order")

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
        self.put(f"{line}\n".encode())
        if self.waiting > FLUSH_BYTES or time.monotonic() >= self._next_flush:
            try:
                self.flush()
            except OSError:
                self._next_flush = time.monotonic() + FLUSH_SECONDS  # the rows wait; an explicit flush is loud

    def flush(self) -> None:
        super().flush()
        self._next_flush = time.monotonic() + FLUSH_SECONDS

    def restore(self, position: int, crc: int | None = None) -> bool:
        """Drops every row after this position. Returns False if those before it are no longer the bytes of this
        checksum; None compares nothing. ValueError if no row ends there, unless the log is not needed: then the whole
        rows before it are kept."""
        if self._is_new and self.needed and self._size <= self._least < position:
            self._abandon()  # the next resume says the same
            raise ValueError(
                tr("{path} is missing; put it back, or begin a new run (docs/resume.md)", path=as_written(self.path))
            )
        self._forget()
        end = last_end(self._file, min(position, os.fstat(self._file.fileno()).st_size))
        if self.needed and (end < position or position < self._least):
            raise ValueError(
                tr(
                    "{path} is shorter than at the checkpoint or was edited; a row cannot end at {position}",
                    path=as_written(self.path),
                    position=position,
                )
            )
        self._cut(end)
        return end == position and crc in (None, self._crc)


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


def _some(names: Sequence[str]) -> str:
    """Returns the first names of a list."""
    return ", ".join([*names[:MOST_NAMES], *(["..."] if len(names) > MOST_NAMES else [])])
