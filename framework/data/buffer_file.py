"""A buffer in a file: an npz archive of its columns, and its counters as JSON."""

import contextlib
import json
import zipfile
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from config.read.opening import named, regular
from config.tell.system_errors import reason_of
from framework.data import neighbors
from framework.data.batch import Batch
from framework.data.priorities import Priorities
from framework.data.settings import Settings
from framework.dataset.archives import member_of
from framework.disk import atomic
from framework.disk.array_headers import read_header
from framework.errors import DataError

_FORMAT = 1
"""Number of the format, for versions that change it."""
_BAD_FILE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, zipfile.BadZipFile, EOFError, OSError,
    RuntimeError, MemoryError, zlib.error,
)  # fmt: skip
"""Exceptions that reading a damaged file raises."""


def save(buffer: Any, path: Path) -> None:
    """Writes a ReplayBuffer to a file. After a crash the file is the old one or the new one."""
    rings, episodes, priorities = buffer._rings, buffer._episodes, buffer._priorities
    stored = neighbors.in_time(rings)
    paths = buffer._table.paths()
    beyond = Batch.stack(buffer._beyond.at.values()).to_dict() if buffer._beyond.at else {}
    after = dict(_leaves(beyond, ()))
    facts = {
        "format": _FORMAT,
        "class": type(buffer).__name__,
        "settings": asdict(buffer.settings),
        "lengths": buffer.lengths,
        "added": rings.added.tolist(),
        "columns": list(paths.values()),
        "after": {"places": list(buffer._beyond.at), "columns": list(after)},
        "rng": buffer._rng.bit_generator.state,
        "priorities": None if priorities is None else priorities.facts(),
    }
    arrays = {f"column_{number}": rings.flat[name][stored] for number, name in enumerate(paths)}
    arrays |= {f"after_{number}": array for number, array in enumerate(after.values())}
    arrays |= {"episode_return": episodes.total, "episode_length": episodes.length, "episode_start": episodes.start}
    if priorities is not None:
        arrays["priority"] = priorities.tree.of(stored)
    arrays["facts"] = np.array(json.dumps(facts))
    try:
        with open(atomic.unfinished(path), "wb", opener=regular) as file:
            np.savez(file, **arrays)
            atomic.finish(file, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            atomic.unfinished(path).unlink(missing_ok=True)
        raise DataError("{path} cannot be written: {error}", path=path, error=reason_of(error)) from None


def load(of: type, path: Path, allow_pickle: bool) -> Any:
    """Returns the buffer in a file. of: the class that it must be, or be built on. DataError if the file is another
    one or damaged."""
    if not path.exists():
        raise DataError("{path} does not exist", path=path)
    try:
        with open(path, "rb", opener=named) as file:
            if not zipfile.is_zipfile(file):  # numpy would take everything else for a pickle
                raise DataError("{path} is not a whole file of a buffer", path=path)
            _check_sizes(path, file)
            file.seek(0)
            archive = np.load(file, allow_pickle=allow_pickle)
            facts = json.loads(str(archive["facts"]))
            classes = {kind.__name__: kind for kind in (*of.__subclasses__(), of)}
            if facts["class"] not in classes:
                raise DataError("{path} holds a {kind}: call {kind}.load", path=path, kind=facts["class"])
            return _restored(classes[facts["class"]], facts, {name: archive[name] for name in archive.files})
    except DataError:
        raise
    except _BAD_FILE as error:
        if "allow_pickle" in str(error) and not allow_pickle:
            raise DataError(
                "{path} has columns of objects, which are pickled; load(path, allow_pickle=True) "
                "takes them. Do that with files of your own only: loading could run code of whoever "
                "wrote it",
                path=path,
            ) from None
        raise DataError("{path} is not a whole file of a buffer: {error}", path=path, error=error) from None


def _check_sizes(path: Path, file: BinaryIO) -> None:
    """Raises DataError if an array says that it is larger than the file."""
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            with member_of(archive, info, file) as member:
                try:
                    read_header(member, info.filename, info.file_size)
                except DataError as error:
                    raise DataError("{path} is not a whole file of a buffer: {error}", path=path, error=error) from None


def _restored(kind: Any, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """Returns a buffer of this class with everything that the file holds."""
    buffer = kind.__new__(kind)
    buffer._set_up(facts["lengths"], Settings(**facts["settings"]))
    buffer._rings.added[:] = facts["added"]
    stored = neighbors.in_time(buffer._rings)
    for number, path in enumerate(facts["columns"]):
        column = arrays[f"column_{number}"]
        name = buffer._table.add_column(tuple(path), column.shape[1:], column.dtype)
        buffer._rings.flat[name][stored] = column
    after: dict[str, Any] = {}
    for number, path in enumerate(facts["after"]["columns"]):
        node = after
        for key in path[:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = arrays[f"after_{number}"]
    for row, place in enumerate(facts["after"]["places"]):
        buffer._beyond.at[place] = Batch(after)[row].copy()
    episodes = buffer._episodes
    episodes.total, episodes.length = arrays["episode_return"], arrays["episode_length"]
    episodes.start = arrays["episode_start"]
    buffer._rng.bit_generator.state = facts["rng"]
    if facts["priorities"] is not None:
        buffer._priorities = priorities = Priorities(buffer.maxsize, **facts["priorities"]["settings"])
        priorities.tree.set(stored, arrays["priority"])
        priorities.tree.highest = facts["priorities"]["highest"]
    return buffer


def _leaves(node: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    """Returns the path and the array of each leaf of nested dicts."""
    if not isinstance(node, dict):
        return [(path, node)]
    return [leaf for key, inner in node.items() for leaf in _leaves(inner, (*path, key))]
