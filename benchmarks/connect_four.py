"""Perfect play of connect four, by the solver in connect_four.cpp."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from algos.base import Array

COLUMNS, ROWS = 7, 6
HEIGHT = ROWS + 1
"""Number of bits of a column; the highest one stays empty."""
SOURCE = Path(__file__).with_suffix(".cpp")


def compiler() -> str | None:
    """Returns the path of the C++ compiler; None if there is none."""
    return shutil.which(os.environ.get("CXX") or "c++")


@cache
def _solver(compiler: str) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder, "connect_four.so"))
        subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", library, str(SOURCE)], check=True)
        return ctypes.CDLL(library)


def value(own: int, both: int, compiler: str) -> int:
    """Returns the value for the player whose turn it is: 1 win, 0 draw, -1 loss. own, both: its stones and those of
    both players, a bit each (see `bit`)."""
    return int(_solver(compiler).value(ctypes.c_uint64(own), ctypes.c_uint64(both)))


def best_columns(own: int, both: int, compiler: str) -> list[int]:
    """Returns all columns with the result of perfect play."""
    columns = _solver(compiler).best_columns(ctypes.c_uint64(own), ctypes.c_uint64(both))
    return [column for column in range(COLUMNS) if columns >> column & 1]


def bit(column: int, row: int) -> int:
    """Returns the number of a square; rows are counted from the lowest one."""
    return 1 << (column * HEIGHT + row)


def boards(planes: Array) -> tuple[int, int]:
    """Returns the own stones and those of both players. planes: [6, 7, 2], the highest row first, of the own stones and
    of those of the other player."""
    own, other = (
        sum(bit(column, ROWS - 1 - row) for row, column in zip(*plane.nonzero(), strict=True))
        for plane in (planes[..., 0], planes[..., 1])
    )
    return int(own), int(own + other)


def best_moves(planes: Array, compiler: str) -> Sequence[int]:
    """Returns all actions with the result of perfect play."""
    return best_columns(*boards(planes), compiler)
