"""Writes episodes in JoyRL's format: a pickled dict of parallel lists, one entry per episode.

The file is a complete pickle after every episode, and an episode is appended without rewriting the others:

    header    an empty dict; each key with an empty list, remembered under a number
    record    per key: recall the list, the value, append it, forget the list        (one per episode)
    stop      one byte, which the next record overwrites in the same write
"""

import io
import pickle
import pickletools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from config.read.opening import read_regular
from config.read.paths import as_written
from config.tell.language import tr
from framework.dataset import safe_pickle
from framework.dataset.columns import MASKS
from framework.dataset.store import StepStore
from framework.disk.appended import AppendedFile
from framework.disk.atomic import ensure_folder, naming, sync_folder

KEYS = ("state", "action", "reward", "next_state", "terminated", "truncated", "info")
"""Keys of every file; the keys of MASKS follow if the first episode has them."""
LIMIT = 1000
"""Number of episodes in a file."""
MOST_RECOVERED = 2**32
"""Bytes of the largest file that is continued without a checkpoint's word on where it ends."""
STOP = pickle.STOP
"""Last byte of a file."""
_DEEPEST = 20


class PickleFile(AppendedFile):
    """A file of episodes, which is a complete pickle after each."""

    TAIL = STOP

    def __init__(
        self, path: Path, number: int, limit: int, episodes: int, end: int, keys: tuple[str, ...] = ()
    ) -> None:
        """Cuts the file after this many episodes, which end there. keys: for a new file; by default its own."""
        super().__init__(path)
        self.number, self.episodes, self._limit = number, episodes, limit
        try:
            with naming(path):
                self.keys = keys or _keys_in(self._file.read(len(header_of((*KEYS, *MASKS)))))
                if episodes:
                    self._cut(end)
                    self._write(b"")
                else:
                    self._begin(self.keys)
            sync_folder(path.parent)  # also for an old file: the process that created it may have been killed
        except OSError:
            self._abandon()
            raise

    def _begin(self, keys: tuple[str, ...]) -> None:
        self.keys = ()  # until the header is written
        self._cut(0)
        self._write(header_of(keys))
        self.keys = keys

    @property
    def full(self) -> bool:
        return self.episodes >= self._limit

    def take(self, parts: Mapping[str, bytes]) -> None:
        """Writes an episode. The first one of all gives the file its keys."""
        if not (self.episodes or self.number or tuple(parts) == self.keys):
            self._begin(tuple(parts))
        self._write(b"".join(parts.get(key) or appended(i, None) for i, key in enumerate(self.keys)))
        self.episodes += 1

    def end(self) -> dict[str, int]:
        return {"file": self.number, "offset": self.position(), "episodes": self.episodes, "crc": self.crc}


class TrajectoryWriter(StepStore):
    """Writes results/trajs.pkl; from the 1001st episode on trajs_0.pkl, trajs_1.pkl, ... An item is an episode: arrays
    [T, ...] under each key, and info as a list of T dicts. Its masks are left out if the episodes before it in the
    files have none."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        super().__init__(folder)
        self.limit = limit

    def _record(self, item: Mapping[str, Any]) -> tuple[str, dict[str, bytes], int]:
        parts = parts_of(item)
        return "", parts, sum(map(len, parts.values()))

    def _opened(self, key: str, before: PickleFile | None) -> PickleFile:
        ensure_folder(self.folder)
        if before is not None:
            if before.path.name == "trajs.pkl":
                before.path = before.path.rename(self.folder / "trajs_0.pkl")
            number = before.number + 1
            return PickleFile(self._path(number), number, self.limit, 0, 0, before.keys)
        number = max(self._numbers(), default=0)
        path = self._path(number)
        data = read_regular(path, MOST_RECOVERED) if path.exists() else b""
        return PickleFile(path, number, self.limit, *_whole_records(data))

    def state(self) -> dict[str, Any]:
        return self._only_end()

    def restore(self, state: Mapping[str, Any]) -> bool:
        self._check_form(state)
        self._drop()
        number, offset, episodes = int(state["file"]), int(state["offset"]), int(state["episodes"])
        for later in [n for n in self._numbers() if n > number]:
            self._path(later).unlink()
        path = self._path(number)
        if number == 0 and path.name != "trajs.pkl" and path.exists():
            path = path.rename(self.folder / "trajs.pkl")
        size = path.stat().st_size if path.exists() else 0
        # a crash may have cut the file at the offset before the stop byte was written
        if size < offset and episodes:
            raise ValueError(
                tr(
                    "{path} is shorter than at the checkpoint; general_cfg.collect_traj=false resumes without it",
                    path=as_written(path),
                )
            )
        ensure_folder(self.folder)
        file = self._files[""] = PickleFile(path, number, self.limit, episodes, offset)
        return not episodes or file.crc == state.get("crc", file.crc)

    @property
    def path(self) -> Path:
        return self._files[""].path if self._files else self._path(0)

    def _numbers(self) -> list[int]:
        """Returns the numbers of the existing files; trajs.pkl is 0."""
        names = [path.stem.removeprefix("trajs").removeprefix("_") or "0" for path in self.folder.glob("trajs*.pkl")]
        return sorted({int(name) for name in names if name.isdecimal()})

    def _path(self, number: int) -> Path:
        path = self.folder / f"trajs_{number}.pkl"
        return path if number or path.exists() else self.folder / "trajs.pkl"


def read(path: Path) -> dict[str, list[Any]]:
    """Returns the episodes of a file, ours or JoyRL's, or raises ValueError. Never runs code."""
    content = safe_pickle.load(path)
    if not isinstance(content, dict) or not all(isinstance(value, list) for value in content.values()):
        raise ValueError(tr("{path} holds no trajectories: a dict of lists was expected", path=path))
    if len({len(value) for value in content.values()}) > 1:
        raise ValueError(tr("{path} holds no trajectories: its lists differ in length", path=path))
    return content


def _put(index: int) -> bytes:
    return pickle.BINPUT + bytes([index])


def _text(value: str) -> bytes:
    return pickle.BINUNICODE + len(value.encode()).to_bytes(4, "little") + value.encode()


def header_of(keys: Sequence[str]) -> bytes:
    """Returns the beginning of a file with these keys."""
    lists = (_text(key) + pickle.EMPTY_LIST + _put(i) + pickle.SETITEM for i, key in enumerate(keys))
    return pickle.PROTO + b"\x03" + pickle.EMPTY_DICT + b"".join(lists)


def _keys_in(data: bytes) -> tuple[str, ...]:
    """Returns the keys of a file that begins with these bytes."""
    return (*KEYS, *MASKS) if data.startswith(header_of((*KEYS, *MASKS))) else KEYS


def parts_of(episode: Mapping[str, Any]) -> dict[str, bytes]:
    """Returns the instructions that append an episode, by key."""
    parts = {}
    for i, key in enumerate(key for key in (*KEYS, *MASKS) if key in episode or key in KEYS):
        value = [plain(step) for step in episode[key]] if key == "info" else np.asarray(episode[key])
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biufcSU":
            raise TypeError(
                tr("{name} is an array of {dtype}; a trajectory holds numbers and text", name=key, dtype=value.dtype)
            )
        parts[key] = appended(i, value)
    return parts


def appended(i: int, value: Any) -> bytes:
    """Returns the instructions that append a value to list number i."""
    return pickle.BINGET + bytes([i]) + _pickled(value) + pickle.APPEND + pickle.POP


def _pickled(value: Any) -> bytes:
    """Pickles a value without the frame of a file, and without memo numbers, which would clash with the lists'."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=3)
    pickler.fast = True
    pickler.dump(value)
    return buffer.getvalue()[2:-1]


def plain(value: Any, depth: int = 0) -> Any:
    """Returns builtins and arrays as they are, and anything else as its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str, bytes):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSU":
        return np.asarray(value)
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {str(key): plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            items = [plain(item, depth + 1) for item in value]
            return items if isinstance(value, list) else tuple(items)
    return str(value)


def _whole_records(data: bytes) -> tuple[int, int]:
    """Returns the number of whole episodes in a file, and the end of the last one."""
    keys, episodes, pops = _keys_in(data), 0, 0
    end = len(header_of(keys))
    if not data.startswith(header_of(keys)):
        return 0, 0
    try:
        for opcode, _, place in pickletools.genops(data):
            pops += opcode.name == "POP"
            if opcode.name == "POP" and pops % len(keys) == 0:
                episodes, end = episodes + 1, (place or 0) + 1
    except ValueError:
        pass  # the torn tail
    return episodes, end
