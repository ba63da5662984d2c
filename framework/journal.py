"""An append-only log of what a memory collected. Checkpoints point into it, so each costs only what is new."""

import hashlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from framework.errors import CheckpointError

SEGMENT_BYTES = 64 * 2**20
"""A new file is begun at this size, so that what nobody needs any more can be deleted."""
_HEADER = struct.Struct("<4sQQ32s")
"""Magic, length of the frame, position of the memory at its end, SHA-256 of the frame."""
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


@dataclass(frozen=True)
class _Frame:
    start: Position
    newest: int
    """Position of the memory after this frame."""


class Journal:
    """The frames of one run, in segments of files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._frames: list[_Frame] = []
        self._end = Position(0, 0)

    def append(self, arrays: dict[str, np.ndarray], newest: int) -> None:
        """Write a frame durably. If the disk is full, the journal ends where it did before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._end.offset >= SEGMENT_BYTES:
            self._end = Position(self._end.segment + 1, 0)
        data = save_arrays(arrays)
        header = _HEADER.pack(_MAGIC, len(data), newest, hashlib.sha256(data).digest())
        path = self._path(self._end.segment)
        try:
            with open(path, "r+b" if path.exists() else "wb") as file:
                file.truncate(self._end.offset)
                file.seek(self._end.offset)
                file.write(header)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            if path.exists():
                os.truncate(path, self._end.offset)
            raise
        self._frames.append(_Frame(self._end, newest))
        self._end = Position(self._end.segment, self._end.offset + len(header) + len(data))

    def span(self, oldest: int) -> Span:
        """What is needed of the journal by a memory whose oldest step is this one."""
        while len(self._frames) > 1 and self._frames[0].newest <= oldest:
            del self._frames[0]
        return Span(self._frames[0].start if self._frames else self._end, self._end)

    def read(self, span: Span) -> list[dict[str, np.ndarray]]:
        """The frames of a span, each verified. The journal goes on after them."""
        frames, found = [], []
        at = span.start
        while at < span.end:
            path = self._path(at.segment)
            if not path.exists():
                raise CheckpointError(
                    f"{path} is gone: keep_checkpoints dropped this checkpoint's memory; it can be tested, and "
                    "training can go on from latest"
                )
            with open(path, "rb") as file:
                stop = span.end.offset if at.segment == span.end.segment else path.stat().st_size
                while at.offset < stop:
                    file.seek(at.offset)
                    data, newest = _read_frame(file, stop - at.offset, path)
                    frames.append(load_arrays(data))
                    found.append(_Frame(at, newest))
                    at = Position(at.segment, at.offset + _HEADER.size + len(data))
            if at.segment < span.end.segment:
                at = Position(at.segment + 1, 0)
        self._frames, self._end = found, span.end
        return frames

    def cut(self, end: Position) -> None:
        """Forget what was written after this position."""
        for path in self.folder.glob("*.log"):
            if int(path.stem) > end.segment:
                path.unlink()
        path = self._path(end.segment)
        if path.exists():
            os.truncate(path, end.offset)
        self._end = end

    def drop_before(self, segment: int) -> None:
        """Delete whole files that nothing needs."""
        for path in self.folder.glob("*.log"):
            if int(path.stem) < segment:
                path.unlink()

    def _path(self, segment: int) -> Path:
        return self.folder / f"{segment:05d}.log"


def _read_frame(file: BinaryIO, room: int, path: Path) -> tuple[bytes, int]:
    magic, length, newest, digest = _HEADER.unpack(file.read(_HEADER.size))
    if magic != _MAGIC or length > room - _HEADER.size:
        raise CheckpointError(f"{path} is damaged")
    data = file.read(length)
    if hashlib.sha256(data).digest() != digest:
        raise CheckpointError(f"{path} is damaged: a frame does not match its checksum")
    return data, newest
