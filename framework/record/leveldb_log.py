"""Files of records in the framing of LevelDB's log, as wandb and SwanLab write them.

A file has a head of 7 bytes, and then blocks of 32 KiB. A record has a checksum (4 bytes), its length (2), and whether
it is whole (1), a first (2), a middle (3) or a last part (4); where fewer than 7 bytes of a block are left, they are
padding."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from config.read.opening import read_regular
from framework.disk.atomic import write_whole

HEAD = 7
"""Bytes of the head of a file, and of that of a record."""
BLOCK = 2**15
MOST_BYTES = 2**31
"""Size of the largest file that is read."""
_WHOLE, _FIRST, _LAST = 1, 2, 4


def records(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields where each record begins and ends, and what it holds. What a crash has damaged is left out, with what
    follows it."""
    place, begin, parts = HEAD, HEAD, b""
    while place + HEAD <= len(content):
        if BLOCK - place % BLOCK < HEAD:
            place += BLOCK - place % BLOCK
            continue
        size, kind = struct.unpack_from("<HB", content, place + 4)
        end = place + HEAD + size
        if end > len(content) or not _WHOLE <= kind <= _LAST:
            return
        if kind in (_WHOLE, _FIRST):
            begin, parts = place, b""
        parts += content[place + HEAD : end]
        if kind in (_WHOLE, _LAST):
            yield begin, end, parts
        place = end


def cut(path: Path, beyond: Callable[[bytes], bool]) -> None:
    """Cuts a file off before the first record that is beyond a checkpoint. It becomes another file of this name: a
    process that still has the old one open would write behind the end, and leave a hole."""
    content = read_regular(path, MOST_BYTES)
    kept = HEAD
    for _, end, record in records(content):
        if beyond(record):
            break
        kept = end
    write_whole(path, content[:kept])
