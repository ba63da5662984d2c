"""Reads traces back into arrays."""

import io
import json
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

NAME = re.compile(r"output-[\d_-]+_worker-(\d+)_(\d+)\.json")
"""Name of a file, with the numbers of its worker and of the file."""
MOST_BYTES = 2**31
"""Size of the largest column of a line, decompressed."""


def read_traces(path: str | Path) -> dict[str, np.ndarray]:
    """Returns the columns of a file or of a folder of traces as arrays [steps, ...]. The files of a folder are joined
    worker by worker, in the order in which they were written. infos is an array of dicts. Raises ValueError if there
    are no traces. Never runs code."""
    path = Path(path)
    files = [file for file, _, _ in trace_files(path)] if path.is_dir() else [path]
    lines = [line for file in files for line in _lines(file)]
    if not lines:
        raise ValueError(f"{path} holds no traces")
    if different := next((line.keys() ^ lines[0].keys() for line in lines if line.keys() != lines[0].keys()), None):
        raise ValueError(f"{path}: not all lines have the column {min(different)}")
    return {name: np.concatenate([line[name] for line in lines]) for name in lines[0]}


def _lines(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """Yields the columns of each line; not of a last one that is being written."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                batch = json.loads(line)
                if batch.pop("type") != "SampleBatch":
                    raise ValueError("its type is not SampleBatch")
                yield {name: _column(value) for name, value in batch.items()}
            except (ValueError, KeyError, AttributeError, TypeError, EOFError, zlib.error) as error:
                raise ValueError(f"{path}: line {number} is no trace: {error}") from error


def _column(value: Any) -> np.ndarray:
    if isinstance(value, str):
        unzip = zlib.decompressobj()
        data = unzip.decompress(b64decode(value, validate=True), MOST_BYTES)
        if unzip.unconsumed_tail:
            raise ValueError(f"a column has more than {MOST_BYTES:,} bytes")
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
    if value and isinstance(value[0], dict):
        infos = np.empty(len(value), object)
        infos[:] = value
        return infos
    return np.array(value)


def trace_files(folder: Path) -> list[tuple[Path, int, int]]:
    """Returns the files of a folder, with worker and number, in the order in which they are read."""
    found = [(path, NAME.fullmatch(path.name)) for path in folder.iterdir()]
    files = [(path, int(match[1]), int(match[2])) for path, match in found if match]
    return sorted(files, key=lambda file: file[1:])
