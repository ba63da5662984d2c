"""Reads JSON lines: an object for each episode, with a list for each column, perhaps compressed."""

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from io import BufferedReader
from math import isfinite
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from config.read.opening import regular
from config.tell.language import tr
from framework.dataset.columns import Block, column_of, renamed
from framework.errors import DataError, optional

MOST_LINE_BYTES = 2**25
"""Bytes of the longest line, decompressed."""
MOST_WINDOW_BYTES = 2**27
"""Bytes that zstd may keep to look back."""
DTYPES = "dtypes"
"""Key of a line with the dtypes of its columns, which JSON itself does not tell."""
_KNOWN = {np.dtype(name).name for name in "?bhiqBHIQefd"}


def read(path: Path) -> Iterator[Block]:
    """Yields the episodes of a file."""
    with ExitStack() as stack:
        for number, line in numbered(_opened(path, stack), tr("episodes"), MOST_LINE_BYTES):
            try:
                columns = _episode(line)
            except (DataError, ValueError, RecursionError, TypeError, AttributeError) as error:
                raise DataError("line {number}: {error}", number=number, error=_said(error, line)) from None
            if len(columns["reward"]):
                yield Block(columns, "episode", tr("line {number}", number=number))


def numbered(file: IO[bytes], parts: str, most: int) -> Iterator[tuple[int, bytes]]:
    """Yields number and bytes of each line that is not blank. Raises DataError for a line that is too long; parts: what
    should be shorter; most: bytes of a line."""
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise DataError(
                "line {number} is longer than {limit:,.0f} MiB; write shorter {parts}",
                number=number,
                limit=most / 2**20,
                parts=parts,
            )
        if not line.isspace():
            yield number, line


def line_of(episode: Mapping[str, Any], infos: Sequence[Any] = ()) -> str:
    """Returns an episode, columns [T, ...] under our names, as a line without its end. infos: of its steps.
    Raises DataError if the line is longer than what is read."""
    columns = {name: np.asarray(column) for name, column in episode.items()}
    value: dict[str, Any] = {name: column.tolist() for name, column in columns.items()}
    value[DTYPES] = {name: column.dtype.name for name, column in columns.items()}
    if any(infos):
        value["info"] = _without_nan(list(infos))
    line = json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
    if len(line) > MOST_LINE_BYTES:
        raise DataError(
            "an episode takes {size:,.0f} MiB as a line of JSON; the format npz has no limit", size=len(line) / 2**20
        )
    return line


def _without_nan(value: Any) -> Any:
    """Returns plain values with null in place of what is not a number, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, np.ndarray):
        return _without_nan(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value


def _opened(path: Path, stack: ExitStack) -> IO[bytes]:
    file = open(path, "rb", opener=regular)  # noqa: SIM115  # closed by the stack
    stack.callback(file.close)
    if path.name.lower().endswith(".gz"):
        return BufferedReader(gzip.GzipFile(fileobj=file))
    if path.name.lower().endswith(".zst"):
        _check_frames(file)
        decompressor = zstandard().ZstdDecompressor(max_window_size=MOST_WINDOW_BYTES)
        return BufferedReader(decompressor.stream_reader(file, read_across_frames=True))
    return file


_HEADER_BYTES = 18
"""Bytes of the longest header of a frame of zst."""
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
"""First numbers of frames without content, such as pzstd writes."""


def _check_frames(file: IO[bytes]) -> None:
    """Raises DataError for a zst file that ends within a frame: the reader takes that for the end. Goes from block to
    block, without their contents (RFC 8878, section 3.1), and back to the beginning of the file."""
    size, at = file.seek(0, os.SEEK_END), 0
    while at < size:
        file.seek(at)
        header = file.read(_HEADER_BYTES)
        if int.from_bytes(header[:4], "little") in _SKIPPABLE:
            at += 8 + int.from_bytes(header[4:8], "little")
            continue
        at += zstandard().frame_header_size(header)
        is_last = False
        while not is_last and at <= size:
            file.seek(at)
            block = int.from_bytes(file.read(3), "little")
            is_last, is_repeated, length = bool(block & 1), block >> 1 & 3 == 1, block >> 3
            at += 3 + (1 if is_repeated else length)
        at += 4 if zstandard().get_frame_parameters(header).has_checksum else 0
    if at > size:
        raise DataError("it is damaged: it ends within a frame")
    file.seek(0)


def zstandard() -> Any:
    """Returns the package that reads and writes zst files, or raises DataError."""
    return optional("zstandard", tr("a zst file"), DataError)


def _said(error: Exception, line: bytes) -> str:
    if isinstance(error, RecursionError):
        return tr("it is nested too deep")
    if isinstance(error, json.JSONDecodeError):
        end = "" if line.endswith(b"\n") else tr("; the file is cut off there")
        return tr("it is not JSON: {error} at character {position}{end}", error=error.msg, position=error.pos, end=end)
    return str(error)


def _episode(line: bytes) -> dict[str, np.ndarray]:
    """Returns the columns of a line."""
    value = json.loads(line, parse_constant=_refused)
    if not isinstance(value, dict):
        raise DataError('an object with a list for each column is needed: {"obs": [...], "action": [...], ...}')
    dtypes = value.get(DTYPES) or {}
    if not isinstance(dtypes, dict) or not all(isinstance(name, str) and name in _KNOWN for name in dtypes.values()):
        raise DataError("{name} must name a dtype of numpy for each column, such as float32 or int64", name=DTYPES)
    return {column: _column(column, value[name], dtypes.get(name)) for column, name in renamed(value).items()}


def _column(name: str, values: Any, dtype: str | None) -> np.ndarray:
    """Returns a column. Without a dtype, floats are float32, and observations of several numbers are too."""
    if not isinstance(values, list):
        raise DataError("{name} is not a list", name=name)
    column = column_of(name, values)
    if dtype is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            exact = column.astype(dtype)
        if exact.dtype.kind != "f" and (exact != column).any():
            raise DataError("{name} has a number that does not fit {dtype}", name=name, dtype=dtype)
        return exact
    several = name in ("obs", "next_obs") and column.ndim > 1
    with np.errstate(over="ignore"):
        return column.astype(np.float32) if column.dtype.kind == "f" or several else column


def _refused(word: str) -> NoReturn:
    raise DataError("{word} is not JSON; finite numbers are needed", word=word)
