"""Reads lines that a run has written or is writing, and that a crash may have cut or a stranger have made."""

import errno
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from config.read.opening import regular
from config.tell.language import tr
from framework.disk.csv_table import whole_lines


def objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects in lines; other lines are skipped."""
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def read_objects(path: Path) -> list[dict[str, Any]]:
    """Returns the JSON objects in the whole lines of a file; none if it cannot be read."""
    return list(objects(whole_lines(path)))


def opened(path: Path) -> BinaryIO:
    """Opens a file for reading. Raises OSError if it, or a folder on the way to it, is a link: those of a run from a
    stranger may lead anywhere."""
    if os.path.realpath(path) != str(path):  # Path.resolve raises RuntimeError at a link to itself
        raise OSError(errno.ELOOP, tr("leads through a link"), str(path))
    return open(path, "rb", opener=regular)


def last_lines(path: Path, most_bytes: int) -> list[str]:
    """Returns the whole lines at the end of a file; none if it cannot be read."""
    try:
        with opened(path) as file:
            begin = max(os.fstat(file.fileno()).st_size - most_bytes, 0)
            file.seek(begin)
            lines = file.read(most_bytes).decode(errors="replace").split("\n")
    except OSError:
        return []
    return lines[1 if begin else 0 : -1]


def last_objects(path: Path, most_bytes: int) -> list[dict[str, Any]]:
    """Returns the JSON objects in the lines at the end of a file."""
    return list(objects(last_lines(path, most_bytes)))
