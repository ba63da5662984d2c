"""An append-only log of what a memory collected. Checkpoints point into it, so each costs only what is new."""

import hashlib
import os
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from framework.checkpoint.atomic import sync_folder
from framework.errors import CheckpointError

SEGMENT_BYTES = 64 * 2**20
"""A new file is begun at this size, so that what nobody needs any more can be deleted."""
_HEADER = struct.Struct("<4sQQ32s")
"""Magic, length of the frame, position of the memory at its end, SHA-256 of that position and the frame."""
_MAGIC = b"JYJ1"


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


class Mark(NamedTuple):
    """Where a frame begins."""

    start: Position
    newest: int
    """Position of the memory after this frame."""


class Journal:
    """The frames of one run, in segments of files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._marks: list[Mark] = []
        self._end = Position(0, 0)

    def append(self, arrays: dict[str, np.ndarray], newest: int) -> None:
        """Write a frame durably. If the disk is full, the journal ends where it did before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._end.offset >= SEGMENT_BYTES:
            self._end = Position(self._end.segment + 1, 0)
        data = save_arrays(arrays)
        header = _HEADER.pack(_MAGIC, len(data), newest, _digest(newest, data))
        path = self._path(self._end.segment)
        is_new = not path.exists()
        try:
            with open(path, "wb" if is_new else "r+b") as file:
                file.truncate(self._end.offset)
                file.seek(self._end.offset)
                file.write(header)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                sync_folder(self.folder)
        except OSError:
            if path.exists():
                os.truncate(path, self._end.offset)
            raise
        self._marks.append(Mark(self._end, newest))
        self._end = Position(self._end.segment, self._end.offset + len(header) + len(data))

    def span(self, oldest: int) -> Span:
        """What is needed of the journal by a memory whose oldest step is this one."""
        while len(self._marks) > 1 and self._marks[0].newest <= oldest:
            del self._marks[0]
        return Span(self._marks[0].start if self._marks else self._end, self._end)

    def read(self, span: Span) -> tuple[list[dict[str, np.ndarray]], list[Mark]]:
        """The frames of a span, each verified, and where they stand."""
        frames, marks = [], []
        for segment in range(span.start.segment, span.end.segment + 1):
            path = self._path(segment)
            if not path.exists():
                raise CheckpointError(
                    f"{path} is gone, and with it what the memory held; the model itself can be tested"
                )
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                stop = span.end.offset if segment == span.end.segment else size
                if stop > size:
                    raise CheckpointError(f"{path} is damaged: it is shorter than when the checkpoint was saved")
                file.seek(span.start.offset if segment == span.start.segment else 0)
                while (offset := file.tell()) < stop:
                    data, newest = _read_frame(file, stop - offset, path)
                    frames.append(load_arrays(data))
                    marks.append(Mark(Position(segment, offset), newest))
        return frames, marks

    def continue_from(self, marks: list[Mark], end: Position) -> None:
        """Go on after these frames, and forget what was written behind them."""
        for path in self.folder.glob("*.log"):
            if int(path.stem) > end.segment:
                path.unlink()
        path = self._path(end.segment)
        if path.exists():
            os.truncate(path, end.offset)
        self._marks, self._end = list(marks), end

    def drop_before(self, segment: int) -> None:
        """Delete whole files that nothing needs."""
        for path in self.folder.glob("*.log"):
            if int(path.stem) < segment:
                path.unlink()

    def _path(self, segment: int) -> Path:
        return self.folder / f"{segment:05d}.log"


def _digest(newest: int, data: bytes) -> bytes:
    digest = hashlib.sha256(newest.to_bytes(8, "little"))
    digest.update(data)
    return digest.digest()


def _read_frame(file: BinaryIO, room: int, path: Path) -> tuple[bytes, int]:
    if room < _HEADER.size:
        raise CheckpointError(f"{path} is damaged: a frame is cut off")
    magic, length, newest, digest = _HEADER.unpack(file.read(_HEADER.size))
    if magic != _MAGIC or length > room - _HEADER.size:
        raise CheckpointError(f"{path} is damaged: there is no whole frame where one should be")
    data = file.read(length)
    if _digest(newest, data) != digest:
        raise CheckpointError(f"{path} is damaged: a frame does not match its checksum")
    return data, newest
