"""Reads traces: JSON lines with a batch of steps each, as general_cfg.traces writes them, and RLlib's writers too."""

import io
import json
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from config.read.opening import regular
from config.tell.language import tr
from framework.dataset.columns import Block, Columns, column_of, joined, renamed, rows
from framework.dataset.lines import numbered
from framework.disk.array_headers import read_header
from framework.errors import DataError

MOST_LINE_BYTES = 2**28
"""Bytes of the longest line, and of the largest column of one, decompressed."""
SUFFIX = ".json"
NAME = re.compile(r"output-[\w-]+_worker-\d+_\d+\.json")
"""Name of a file, ours or RLlib's."""
TIME_LIMIT = "TimeLimit.truncated"
"""Key of an info: the episode was cut off. Older traces have no other word for it."""
_COLUMNS = (
    "obs", "actions", "rewards", "new_obs", "terminateds", "truncateds", "dones", "action_mask", "next_action_mask",
)  # fmt: skip
_PICKLE = tr(
    "{name} is packed by pickle, which could run code and is not read; write the traces anew with "
    "output_compress_columns: [] (compress_columns=[] of a JsonWriter)"
)


def files_in(folder: Path) -> list[Path]:
    """Returns the traces of a folder."""
    return [path for path in folder.glob("output-*.json") if NAME.fullmatch(path.name)]


def read(path: Path) -> Iterator[Block]:
    """Yields the episodes of a file, each whole: a line has pieces of several. Those that the file does not end come
    last."""
    begun: dict[tuple[int, int | str], list[Columns]] = {}
    for place, columns, keys in _pieces(path):
        for key, part in _runs(columns, keys):
            begun.setdefault(key, []).append(part)
            if _ends(part):
                yield Block(joined(begun.pop(key)), "episode", place)
    for (episode, _), parts in begun.items():
        yield Block(joined(parts), "episode", tr("episode {number}", number=episode))


def _ends(part: Columns) -> bool:
    return any(bool(part[name][-1]) for name in ("terminated", "truncated", "done") if name in part)


def _runs(columns: Columns, keys: list[tuple[int, int | str]]) -> Iterator[tuple[tuple[int, int | str], Columns]]:
    """Yields consecutive steps of one agent in one episode."""
    start = 0
    for stop in range(1, len(keys) + 1):
        over = _ends(rows(columns, slice(stop - 1, stop)))
        if stop == len(keys) or keys[stop] != keys[start] or over:
            yield keys[start], rows(columns, slice(start, stop))
            start = stop


def _pieces(path: Path) -> Iterator[tuple[str, Columns, list[tuple[int, int | str]]]]:
    """Yields the place, the columns and the (episode, agent) of each step of the lines of a file."""
    with open(path, "rb", opener=regular) as file:
        for number, line in numbered(file, tr("pieces"), MOST_LINE_BYTES):
            if not line.endswith(b"\n") and not is_whole(line):
                return  # a run is writing it
            try:
                batch = _batch(json.loads(line))
                columns = _columns(batch)
                keys = _keys(batch, len(columns["reward"]))
            except (ValueError, RecursionError, TypeError, AttributeError, KeyError, EOFError, zlib.error) as error:
                raise DataError("line {number}: {error}", number=number, error=_reason(error)) from None
            if keys:
                yield tr("line {number}", number=number), columns, keys


def is_whole(line: bytes) -> bool:
    """Returns True if the last line of a file, which no end of line ends, is a whole object."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return tr("it is nested too deep")
    if isinstance(error, json.JSONDecodeError):
        return tr("it is not JSON: {error} at character {position}", error=error.msg, position=error.pos)
    return str(error) if isinstance(error, DataError) else tr("it is not a trace: {error}", error=error)


def _batch(line: Any) -> dict[str, Any]:
    """Returns the steps of a line: of its single agent, or of its only policy."""
    if not isinstance(line, dict) or line.get("type") not in ("SampleBatch", "MultiAgentBatch"):
        raise DataError('it is not a trace: an object with "type": "SampleBatch" and a list for each column is needed')
    if line["type"] == "SampleBatch":
        return line
    batches = line["policy_batches"]
    if len(batches) > 1:
        raise DataError(
            "it has steps of several policies, {names}; data of one are needed", names=", ".join(map(str, batches))
        )
    batch: dict[str, Any] = next(iter(batches.values()), {})
    if not all(batch.get("acts", [])):
        raise DataError("it has steps in which an agent does not act; data of agents that always act are needed")
    return batch


def _columns(batch: Mapping[str, Any]) -> Columns:
    """Returns the columns of a batch under our names."""
    names = renamed(name for name in batch if name in _COLUMNS)
    columns = {column: _column(name, batch[name]) for column, name in names.items()}
    if "truncated" not in columns and (cut := _cut(batch.get("infos"))) is not None:
        over = columns.pop("done" if "done" in columns else "terminated").astype(bool)
        columns |= {"terminated": over & ~cut, "truncated": over & cut}
    sizes = {name: len(column) if column.ndim else -1 for name, column in columns.items()}
    if len(set(sizes.values())) > 1 or -1 in sizes.values():
        raise DataError(
            "the columns differ in length: {lengths}", lengths=", ".join(f"{name} {n}" for name, n in sizes.items())
        )
    return columns


def _cut(infos: Any) -> np.ndarray | None:
    """Returns the steps whose info says that a time limit ended the episode; None if no info says so of any step."""
    if not isinstance(infos, list) or not all(isinstance(info, dict) for info in infos):
        return None
    cut = np.array([bool(info.get(TIME_LIMIT)) for info in infos])
    return cut if cut.any() else None


def _column(name: str, value: Any) -> np.ndarray:
    """Returns a column. In lists floats are float32, and observations of several numbers are too, except images."""
    if isinstance(value, str):
        return column_of(name, unpacked(name, value))
    if not isinstance(value, list):
        raise DataError("{name} is a {kind}; a list is needed", name=name, kind=type(value).__name__)
    column = column_of(name, value)
    if (
        name in ("obs", "new_obs")
        and column.ndim > 3
        and column.dtype.kind in "iu"
        and 0 <= column.min() <= column.max() < 256
    ):
        return column.astype(np.uint8)
    several = name in ("obs", "new_obs") and column.ndim > 1
    with np.errstate(over="ignore"):
        return column.astype(np.float32) if column.dtype.kind == "f" or several else column


def unpacked(name: str, text: str) -> np.ndarray:
    """Returns a column that is packed as text: base64 of zlib of a NumPy file."""
    data = b64decode(text, validate=True)
    if data[:4] == b"\x04\x22\x4d\x18" or data[:1] == b"\x80":
        raise DataError(_PICKLE.format(name=name))
    unzip = zlib.decompressobj()
    content = unzip.decompress(data, MOST_LINE_BYTES)
    if unzip.unconsumed_tail:
        raise DataError("{name} has more than {limit:,.0f} MiB", name=name, limit=MOST_LINE_BYTES / 2**20)
    if content[:1] == b"\x80":
        raise DataError(_PICKLE.format(name=name))
    read_header(io.BytesIO(content), name, len(content))
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


def _keys(batch: Mapping[str, Any], count: int) -> list[tuple[int, int | str]]:
    """Returns the episode and the agent of each step. Without eps_id the steps of a line follow one another."""
    agents = batch.get("agent_id", batch.get("agent_index", [0] * count))
    episodes = batch.get("eps_id", [0] * count)
    agents, episodes = (
        [*_column("eps_id", column).tolist()] if isinstance(column, str) else column for column in (agents, episodes)
    )
    if len(agents) != count or len(episodes) != count:
        raise DataError(
            "the columns differ in length: rewards {rewards}, eps_id {episodes}, agent_id {agents}",
            rewards=count,
            episodes=len(episodes),
            agents=len(agents),
        )
    return list(zip(episodes, agents, strict=True))
