"""Files of records in the framing of LevelDB's log, as wandb and SwanLab write them.

A file has a head of 7 bytes, and then blocks of 32 KiB. A record has a checksum (4 bytes), its length (2), and whether it is
whole (1), a first (2), a middle (3) or a last part (4); where fewer than 7 bytes of a block are left, they are padding."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from config.read.opening import read_regular, regular

HEAD = 7
"""Bytes of the head of a file, and of that of a record."""
BLOCK = 2**15
MOST_BYTES = 2**31
"""Size of the largest file that is read."""
_WHOLE, _FIRST, _LAST = 1, 2, 4


def records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the place where each record begins, and what it holds. One that a crash has cut off is left out."""
    place, begin, parts = HEAD, HEAD, b""
    while place + HEAD <= len(content):
        if BLOCK - place % BLOCK < HEAD:
            place += BLOCK - place % BLOCK
            continue
        size, kind = struct.unpack_from("<HB", content, place + 4)
        end = place + HEAD + size
        if end > len(content):
            return
        if kind in (_WHOLE, _FIRST):
            begin, parts = place, b""
        parts += content[place + HEAD : end]
        if kind in (_WHOLE, _LAST):
            yield begin, parts
        place = end


def read(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the records of a file."""
    return records(read_regular(path, MOST_BYTES))


def cut(path: Path, place: int) -> None:
    """Cuts a file off where a record begins."""
    with open(path, "r+b", opener=regular) as file:
        file.truncate(place)
        os.fsync(file.fileno())
