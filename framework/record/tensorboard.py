"""Writes TensorBoard's event files directly: no thread, no import of 0.6 seconds, and a byte position to return to.

A file is a sequence of records: length, its checksum, an Event protocol buffer, its checksum. An Event holds
wall_time (field 1, double), step (2, varint), file_version (3, string) or summary (5), which holds one Value
(1) per curve: tag (1, string) and simple_value (2, float). Settings are Values with a tensor and the name of a plugin.
"""

import math
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from algos.base import Tree
from config.read.opening import regular
from config.read.paths import as_written
from config.tell.language import tr
from framework.disk.appended import AppendedFile
from framework.disk.atomic import ensure_folder, sync_folder
from framework.log import LOGGER
from framework.record.loggers import Logger, flat

GROUPS = ("interact", "model")
"""Folders below tb_logs/. A checkpoint may come from a stranger, so it cannot name others."""
_FLUSH_BYTES = 1 << 16
_LARGEST_FLOAT32 = 3.4028235e38


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


_FLOAT, _STRING = 1, 7
"""Types of a tensor."""


def _tensor(kind: int, content: bytes, size: int = 1) -> bytes:
    """Returns a TensorProto with one axis: its type (1), its shape (2) with the size (1) of each axis (2), values."""
    return b"\x08" + _varint(kind) + _message(2, _message(2, b"\x08" + _varint(size))) + content


def _value(tag: str, plugin: str, data: bytes, tensor: bytes) -> bytes:
    """Returns a value of a summary that a plugin reads: tag (1), tensor (8), and metadata (9) with the name of the
    plugin (1) and its data (2)."""
    metadata = _message(1, _message(1, plugin.encode()) + _message(2, data))
    return _message(1, _message(1, tag.encode()) + _message(8, tensor) + _message(9, metadata))


def _plain(value: Any) -> bytes:
    """Returns a protobuf Value: a truth value (4), a number (2) or text (3)."""
    if isinstance(value, bool):
        return b"\x20" + _varint(value)
    if isinstance(value, int | float):
        return b"\x11" + struct.pack("<d", value)
    return _message(3, str(value).encode())


def _record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + masked_crc32c(length) + event + masked_crc32c(event)


def _cut(files: Mapping[int, Path], number: int, offset: int) -> bool:
    """Deletes the files after this number and shortens the one that has it, durably. Returns False if that one is
    missing, or shorter already."""
    whole = number == 0
    for n, path in files.items():
        if n > number:
            path.unlink()
        elif n == number:
            with open(path, "r+b", opener=regular) as file:
                size = os.fstat(file.fileno()).st_size
                file.truncate(min(offset, size))
                os.fsync(file.fileno())
            whole = offset <= size
    return whole


class EventFile(AppendedFile):
    """Newest of a folder's numbered event files. Each session writes its own, since an open viewer does not expect a
    file to become shorter."""

    def __init__(self, folder: Path, number: int | None = None, offset: int = 0) -> None:
        """With a number: deletes the files after that one, and cuts it at `offset`."""
        ensure_folder(folder)
        paths = {path.name.split(".")[3]: path for path in folder.glob("events.out.tfevents.*.joystick")}
        old = {int(number): path for number, path in paths.items() if number.isdecimal()}
        self.number = max(old, default=0) + 1
        if number is not None and not _cut(old, number, offset):
            LOGGER.warning(
                tr("%s has lost points that it had at the checkpoint; the run continues"), as_written(folder)
            )
        super().__init__(folder / f"events.out.tfevents.{self.number:010d}.joystick")
        sync_folder(folder)
        self.put(_record(_event(time.time(), 0, _message(3, b"brain.Event:2"))))

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Adds one event with a value per curve."""
        points = [_message(1, tag.encode()) + b"\x15" + _float32(value) for tag, value in values.items()]
        summary = b"".join(_message(1, point) for point in points)
        self.put(_record(_event(time.time(), step, _message(5, summary))))
        if self.waiting > _FLUSH_BYTES:
            self.flush()

    def settings(self, text: str, values: Mapping[str, Any]) -> None:
        """Adds the settings, as text and as hyperparameters."""
        lines = "\n".join(f"    {line}" for line in text.splitlines())  # indented: Markdown takes it as it is
        content = _value("settings/text_summary", "text", b"", _tensor(_STRING, _message(8, lines.encode())))
        self.put(_record(_event(time.time(), 0, _message(5, content))))
        start = b"".join(_message(1, _message(1, name.encode()) + _message(2, _plain(v))) for name, v in values.items())
        start += b"\x29" + struct.pack("<d", time.time())
        data = _message(3, start)
        content = _value("_hparams_/session_start_info", "hparams", data, _tensor(_FLOAT, b"", size=0))
        self.put(_record(_event(time.time(), 0, _message(5, content))))


class TensorBoard(Logger):
    """Event files under tb_logs/, one folder per group. Its state is the number and the size of each group's file, so
    that an exact resume drops every point that was written after it."""

    def __init__(self) -> None:
        self.folder = Path()
        self._files: dict[str, EventFile] = {}

    def start(self, folder: Path, config: Mapping[str, Any], state: Tree) -> None:
        self.folder = folder / "tb_logs"
        for group in GROUPS if state else ():
            number, offset = map(int, state.get(group, (0, 0)))
            if number or (self.folder / group).is_dir():
                self._files[group] = EventFile(self.folder / group, number, max(offset, 0))
        if config:
            text = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
            self._group("interact").settings(text, dict(flat(config)))

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        self._group(group).scalars(values, step)

    def close(self) -> None:
        files, self._files = self._files, {}
        for file in files.values():
            file.close()

    def state(self) -> Tree:
        return {group: [0, 0] for group in GROUPS} | {
            group: [file.number, file.position()] for group, file in self._files.items()
        }

    def _group(self, group: str) -> EventFile:
        if group not in self._files:
            self._files[group] = EventFile(self.folder / group)
        return self._files[group]
