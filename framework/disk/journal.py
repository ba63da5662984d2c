"""An append-only log of what a memory collected. Checkpoints point into it, so each costs only what is new."""

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from config.read.opening import regular
from config.tell.language import tr
from framework.disk.atomic import ensure_folder, sync_folder
from framework.errors import CheckpointError

FRAME_BYTES = 32 * 2**20
"""Largest size of a frame. A save or a load holds one at once beside the memory."""
MOST_DESCRIPTION_BYTES = 2**20
"""Largest size of the description of a frame's arrays, of which each has a line."""
SEGMENT_BYTES = 64 * 2**20
"""Size of a file after which the next one begins, so that old files can be deleted."""
KEPT_JOURNALS = 5
"""Number of the newest checkpoints whose part of the journal is kept, if keep_checkpoints sets no limit."""
_HEADER = struct.Struct("<4sQQ32s")
"""Magic, length of the frame, a number that is not used, SHA-256 of that number and the frame."""
_MAGIC = b"JYJ1"
_DTYPES = {
    "|b1": "BOOL", "|i1": "I8", "|u1": "U8", "<i2": "I16", "<u2": "U16", "<i4": "I32", "<u4": "U32", "<i8": "I64",
    "<u8": "U64", "<f2": "F16", "<f4": "F32", "<f8": "F64",
}  # fmt: skip
"""numpy's names of types -> safetensors' names."""
_NAMES = {name: dtype for dtype, name in _DTYPES.items()}


class Position(NamedTuple):
    """A place in the journal."""

    segment: int
    offset: int


class Span(NamedTuple):
    """The part of the journal that a checkpoint needs."""

    start: Position
    end: Position

    def to_json(self) -> list[int]:
        return [*self.start, *self.end]

    @classmethod
    def from_json(cls, numbers: list[int] | None) -> "Span | None":
        if numbers is None:
            return None
        a, b, c, d = (int(n) for n in numbers)
        return cls(Position(a, b), Position(c, d))


class Frame(NamedTuple):
    """Arrays of the journal, and the place where they were read. Each array holds the bytes of the whole frame."""

    arrays: dict[str, np.ndarray]
    start: Position
    end: Position


class Journal:
    """The frames of one run, in segments of files. Holds no frame in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()  # the data server of Ray has a working directory of its own
        self.end = Position(0, 0)
        """Position of the next frame."""
        self._read = self._to_read = 0
        """Bytes that the running `read` has passed, and of all its frames."""

    def append(self, arrays: dict[str, np.ndarray]) -> Position:
        """Writes a frame durably and returns where it begins. If the disk is full, the journal keeps its end."""
        ensure_folder(self.folder)
        start = self.end if self.end.offset < SEGMENT_BYTES else Position(self.end.segment + 1, 0)
        path = self._path(start.segment)
        try:
            with open(path, "r+b" if path.exists() else "wb", opener=regular) as file:
                file.truncate(start.offset)
                file.seek(start.offset)
                _write_frame(file, arrays)
                end = file.tell()
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self.folder)  # also for an old file: the process that created it may have been killed
        except OSError:
            if path.exists():
                _cut(path, start.offset)
            raise
        self.end = Position(start.segment, end)
        return start

    def read(self, span: Span) -> Iterator[Frame]:
        """Yields the frames of a span, each verified. Reads one at a time."""
        if span.start == span.end:
            return
        self._read, self._to_read = 0, self._bytes(span)
        for segment in range(span.start.segment, span.end.segment + 1):
            path = self._path(segment)
            if not path.exists():
                raise CheckpointError(
                    "{path} is gone, and with it the replay memory of this checkpoint. The model "
                    "itself can be tested (mode test); to train on, choose one of the newest "
                    "checkpoints ({kept}, or as many as general_cfg.keep_checkpoints says)",
                    path=path,
                    kept=KEPT_JOURNALS,
                )
            with open(path, "rb", opener=regular) as file:
                size = os.fstat(file.fileno()).st_size
                stop = span.end.offset if segment == span.end.segment else size
                if stop > size:
                    raise CheckpointError(
                        "{path} is damaged: it is shorter than when the checkpoint was saved", path=path
                    )
                file.seek(span.start.offset if segment == span.start.segment else 0)
                while (offset := file.tell()) < stop:
                    arrays = _arrays(_read_frame(file, stop - offset, path))
                    yield Frame(arrays, Position(segment, offset), Position(segment, file.tell()))
                    del arrays  # before the next one is read
                    self._read += file.tell() - offset
        self._read = self._to_read = 0

    def _bytes(self, span: Span) -> int:
        """Returns the size of a span, by the files that are there: a damaged span may name any number of them."""
        segments = range(span.start.segment, span.end.segment)
        files = [path for segment, path in self._files() if segment in segments]
        return sum(path.stat().st_size for path in files) + span.end.offset - span.start.offset

    def progress(self) -> str:
        """Returns how much of its frames is read; empty if none are being read."""
        if not self._to_read:
            return ""
        return tr("{read:,.0f} of {whole:,.0f} MiB", read=self._read / 2**20, whole=self._to_read / 2**20)

    def continue_from(self, end: Position) -> None:
        """Writes the next frame at this place, and deletes what is behind it."""
        for segment, path in self._files():
            if segment > end.segment:
                path.unlink()
        path = self._path(end.segment)
        if path.exists():
            _cut(path, end.offset)
        self.end = end

    def drop_before(self, segment: int) -> None:
        """Deletes the files before this one."""
        for number, path in self._files():
            if number < segment:
                path.unlink()

    def _files(self) -> list[tuple[int, Path]]:
        """Returns the files of segments, with their numbers; not what another program has put beside them, such as the
        copy that a synchronized folder makes of a file that two machines have changed."""
        return [(int(path.stem), path) for path in self.folder.glob("*.log") if path.stem.isdecimal()]

    def _path(self, segment: int) -> Path:
        return self.folder / f"{segment:05d}.log"


class JournalPart:
    """The frames that a checkpoint needs. Each iteration reads them again from the disk."""

    def __init__(self, journal: Journal, span: Span) -> None:
        self.journal, self.span = journal, span

    def __iter__(self) -> Iterator[Frame]:
        return self.journal.read(self.span)

    def verify(self) -> None:
        """Reads every frame once; CheckpointError if one is damaged."""
        for frame in self:
            del frame


def _cut(path: Path, size: int) -> None:
    """Drops what is behind this size of a file."""
    with open(path, "r+b", opener=regular) as file:
        file.truncate(size)


def _write_frame(file: BinaryIO, arrays: dict[str, np.ndarray]) -> None:
    """Writes header and arrays (in the format of safetensors) without a copy of them. The header, which holds the
    checksum, is written last."""
    place = file.tell()
    file.write(bytes(_HEADER.size))
    digest, length = hashlib.sha256(bytes(8)), 0
    # the largest types first, so that every array lies at a multiple of its item's size
    ordered = dict(sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])))
    for piece in (_description(ordered), *ordered.values()):
        data = np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data
        digest.update(data)
        file.write(data)
        length += len(data)
    end = file.tell()
    file.seek(place)
    file.write(_HEADER.pack(_MAGIC, length, 0, digest.digest()))
    file.seek(end)


def _description(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the beginning of a safetensors file: types, shapes and places of the arrays, as bytes."""
    table: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        places = [offset, offset + array.nbytes]
        table[name] = {"dtype": _DTYPES[array.dtype.str], "shape": list(array.shape), "data_offsets": places}
        offset += array.nbytes
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    return np.frombuffer(struct.pack("<Q", len(text)) + text, np.uint8)


def _arrays(frame: bytes) -> dict[str, np.ndarray]:
    """Returns the arrays that a frame describes, without a copy of them: safetensors' own reader makes one of each, in
    an order that changes, so that a load took by chance one array more or less of memory."""
    begin = 8 + int.from_bytes(frame[:8], "little")
    if begin > MOST_DESCRIPTION_BYTES:
        raise ValueError(tr("a frame has a description of {count:,} bytes", count=begin))
    content, arrays, reached = memoryview(frame)[begin:], {}, 0
    for name, entry in json.loads(frame[8:begin]).items():
        first, end = entry["data_offsets"]
        if first != reached or end < first:  # a small frame could name the same bytes any number of times
            raise ValueError(tr("the arrays of a frame do not lie one after the other"))
        arrays[name] = np.frombuffer(content[first:end], _NAMES[entry["dtype"]]).reshape(entry["shape"])
        reached = end
    if reached != len(content):
        raise ValueError(tr("the arrays of a frame do not lie one after the other"))
    return arrays


def _read_frame(file: BinaryIO, room: int, path: Path) -> bytes:
    if room < _HEADER.size:
        raise CheckpointError("{path} is damaged: a frame is cut off", path=path)
    magic, length, number, digest = _HEADER.unpack(file.read(_HEADER.size))
    if magic != _MAGIC or length > room - _HEADER.size:
        raise CheckpointError("{path} is damaged: there is no whole frame where one should be", path=path)
    data = file.read(length)
    expected = hashlib.sha256(number.to_bytes(8, "little"))
    expected.update(data)
    if expected.digest() != digest:
        raise CheckpointError("{path} is damaged: a frame does not match its checksum", path=path)
    return data
