"""Reads traces back into arrays."""

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from config.read.opening import Opener, named, regular
from config.tell.language import tr
from config.tell.system_errors import reason_of
from framework.dataset.lines import numbered
from framework.dataset.traces import MOST_LINE_BYTES, is_whole, unpacked
from framework.errors import DataError

NAME = re.compile(r"output-[\d_-]+_worker-(\d+)_(\d+)\.json")
"""Name of a file, with the numbers of its worker and of the file."""
_BAD_LINE = (ValueError, KeyError, AttributeError, TypeError, EOFError, DataError, RecursionError, zlib.error)
"""Errors that reading a line raises if it is not a trace."""


Columns = dict[str, np.ndarray]


def read_traces(path: str | Path) -> dict[str, Any]:
    """Returns the columns of a file or of a folder of traces as arrays [steps, ...]; with several agents, a dict of
    them for each policy. The files of a folder are joined worker by worker, in the order in which they were written.
    infos is an array of dicts. Raises DataError if there are no traces. Never runs code."""
    path = Path(path)
    if not path.exists():
        raise DataError("{path} does not exist", path=path)
    files, opener = ([file for file, _, _ in trace_files(path)], regular) if path.is_dir() else ([path], named)
    lines = [line for file in files for line in _lines(file, opener)]
    if not lines:
        raise DataError("{path} holds no traces", path=path)
    batches: dict[str | None, list[Columns]] = {}
    for line in lines:
        for policy, columns in line.items():
            batches.setdefault(policy, []).append(columns)
    tables = {policy: _joined(path, columns) for policy, columns in batches.items()}
    if None not in tables:
        return {str(policy): columns for policy, columns in tables.items()}
    if len(tables) > 1:
        raise DataError("{path} holds traces of a single agent and of several agents", path=path)
    return tables[None]


def _joined(path: Path, batches: list[Columns]) -> Columns:
    first = batches[0].keys()
    if different := next((batch.keys() ^ first for batch in batches if batch.keys() != first), None):
        raise DataError("{path}: not all lines have the column {name}", path=path, name=min(different))
    if other := next((name for name in first if len({batch[name].shape[1:] for batch in batches}) > 1), None):
        raise DataError("{path}: the column {name} has different shapes in different lines", path=path, name=other)
    return {name: np.concatenate([batch[name] for batch in batches]) for name in first}


def _lines(path: Path, opener: Opener) -> Iterator[dict[str | None, Columns]]:
    """Yields the columns of each line by policy, None for a single agent; not of a last one that is being written."""
    try:
        with open(path, "rb", opener=opener) as file:
            for number, line in numbered(file, tr("pieces"), MOST_LINE_BYTES):
                if not line.endswith(b"\n") and not is_whole(line):
                    return
                try:
                    batches = _batches(json.loads(line))
                    yield {policy: _columns(batch) for policy, batch in batches.items()}
                except _BAD_LINE as error:
                    raise DataError("line {number} is not a trace: {error}", number=number, error=error) from error
    except OSError as error:
        raise DataError("{path} cannot be read: {error}", path=path, error=reason_of(error)) from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _batches(line: Any) -> dict[str | None, dict[str, Any]]:
    """Returns the columns of a line as they are written, by policy."""
    form = line.pop("type")
    if form == "SampleBatch":
        return {None: line}
    if form == "MultiAgentBatch":
        return {str(policy): batch for policy, batch in line["policy_batches"].items()}
    raise ValueError(tr("its type is neither SampleBatch nor MultiAgentBatch"))


def _columns(batch: dict[str, Any]) -> Columns:
    columns = {name: _column(name, value) for name, value in batch.items()}
    if single := next((name for name, column in columns.items() if not column.ndim), None):
        raise ValueError(tr("{name} is one value, and not one for each step", name=single))
    counts = {len(column) for column in columns.values()}
    if len(counts) > 1:
        raise ValueError(tr("its columns have {counts} steps", counts=tr(" and ").join(map(str, sorted(counts)))))
    return columns


def _column(name: str, value: Any) -> np.ndarray:
    if isinstance(value, str):
        return unpacked(name, value)
    if value and isinstance(value[0], dict):
        infos = np.empty(len(value), object)
        infos[:] = value
        return infos
    return np.array(value)


def trace_files(folder: Path) -> list[tuple[Path, int, int]]:
    """Returns the files of a folder, with worker and number, in the order in which they are read."""
    names = [(path, NAME.fullmatch(path.name)) for path in folder.iterdir()]
    files = [(path, int(match[1]), int(match[2])) for path, match in names if match]
    return sorted(files, key=lambda file: file[1:])
