"""Writes TensorBoard's event files directly: no thread, no import of 0.6 seconds, and a byte position to return to.

A file is a sequence of records: length, its checksum, an Event protocol buffer, its checksum. An Event holds
wall_time (field 1, double), step (2, varint), file_version (3, string) or summary (5), which holds one Value
(1) per curve: tag (1, string) and simple_value (2, float).
"""

import math
import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from framework.checkpoint.atomic import naming, regular
from framework.output import LOGGER

GROUPS = ("interact", "model")
"""Folders below tb_logs/. A checkpoint may come from a stranger, so it cannot name others."""
_FLUSH_BYTES = 1 << 16
_LARGEST_FLOAT32 = 3.4028235e38

_Result = TypeVar("_Result")


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def masked_crc32c(data: bytes) -> bytes:
    """Returns the checksum of the record format: CRC-32C, rotated and shifted by a constant."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _message(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(data)) + data


def _float32(value: float) -> bytes:
    """Packs a value; one that is too large becomes infinity, as in any conversion to 32 bits."""
    return struct.pack("<f", math.copysign(math.inf, value) if abs(value) > _LARGEST_FLOAT32 else value)


def _event(wall_time: float, step: int, content: bytes) -> bytes:
    return b"\x09" + struct.pack("<d", wall_time) + b"\x10" + _varint(step) + content


def _record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + masked_crc32c(length) + event + masked_crc32c(event)


def _cut(files: Mapping[int, Path], number: int, offset: int) -> None:
    """Deletes the files after this number and shortens the one that has it."""
    for n, path in files.items():
        if n > number:
            path.unlink()
        elif n == number:
            with open(path, "r+b", opener=regular) as file:
                file.truncate(min(offset, os.fstat(file.fileno()).st_size))


class EventFile:
    """Newest of a folder's numbered event files. Each session writes its own, since an open viewer does not expect a
    file to become shorter."""

    def __init__(self, folder: Path, number: int | None = None, offset: int = 0) -> None:
        """With a number: deletes the files after that one, and cuts it at `offset`."""
        folder.mkdir(parents=True, exist_ok=True)
        old = {int(path.name.split(".")[3]): path for path in folder.glob("events.out.tfevents.*.joystick")}
        self.number = max(old, default=0) + 1
        if number is not None:
            _cut(old, number, offset)
        path = folder / f"events.out.tfevents.{self.number:010d}.joystick"
        self._path = path
        self._file = open(path, "wb", buffering=0, opener=regular)  # noqa: SIM115  # held until close()
        self._size = 0
        self._waiting = bytearray(_record(_event(time.time(), 0, _message(3, b"brain.Event:2"))))

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Adds one event with a value per curve."""
        points = [_message(1, tag.encode()) + b"\x15" + _float32(value) for tag, value in values.items()]
        summary = b"".join(_message(1, point) for point in points)
        self._waiting += _record(_event(time.time(), step, _message(5, summary)))
        if len(self._waiting) > _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes the waiting events."""
        with naming(self._path):
            written = self._file.write(self._waiting)
        if written < len(self._waiting):
            raise OSError(f"only a part of {self._path} could be written")
        self._size += written
        self._waiting.clear()

    def position(self) -> list[int]:
        """Returns the number of the file and its size in bytes."""
        self.flush()
        return [self.number, self._size]

    def close(self) -> None:
        """Writes the waiting events and closes the file."""
        try:
            self.flush()
        finally:
            self._file.close()


class TensorBoard:
    """Event files under tb_logs/, one folder per group. A failure is a warning; training continues without it."""

    def __init__(self, folder: Path, warn: Callable[[str], None] = LOGGER.warning) -> None:
        self.folder, self._warn = folder, warn
        self._files: dict[str, EventFile] = {}
        self._failed = False

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Adds points of several curves at one step."""
        self._guarded(lambda: self._group(group).scalars(values, step))

    def flush(self) -> None:
        """Writes everything that waits."""
        for file in self._files.values():
            self._guarded(file.flush)

    def position(self) -> dict[str, list[int]] | None:
        """Returns the number and the size of each group's file: the state for an exact resume. None after a failure."""
        return self._guarded(lambda: {group: file.position() for group, file in self._files.items()})

    def restore(self, position: Mapping[str, Sequence[int]] | None) -> None:
        """Drops every point that was written after this position; none where it is not known."""
        if position is not None:
            self._guarded(lambda: self._restore(position))

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            self._guarded(file.close)
        self._files.clear()

    def _group(self, group: str) -> EventFile:
        if group not in self._files:
            self._files[group] = EventFile(self.folder / group)
        return self._files[group]

    def _restore(self, position: Mapping[str, Sequence[int]]) -> None:
        self.close()
        for group in GROUPS:
            if group in position or (self.folder / group).is_dir():
                number, offset = map(int, position.get(group, (0, 0)))
                self._files[group] = EventFile(self.folder / group, number, max(offset, 0))

    def _guarded(self, work: Callable[[], _Result]) -> _Result | None:
        if self._failed:
            return None
        try:
            return work()
        except Exception as error:
            self._failed = True
            self._warn(f"TensorBoard stopped: {error}. Training goes on; results/train.csv holds the same numbers")
            return None
