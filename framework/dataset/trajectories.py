"""Writes episodes in JoyRL's format: a pickled dict of parallel lists, one entry per episode.

The file is a complete pickle after every episode, and an episode is appended without rewriting the others:

    header    an empty dict; each key with an empty list, remembered under a number
    record    per key: recall the list, the value, append it, forget the list        (one per episode)
    stop      one byte, which the next record overwrites in the same write
"""

import io
import os
import pickle
import pickletools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np

from config.read.opening import read_regular, regular
from config.read.paths import as_written
from framework.dataset import safe_pickle
from framework.dataset.columns import MASKS
from framework.disk.atomic import ensure_folder, naming, sync_folder
from framework.disk.csv_log import checksum
from framework.log import LOGGER

KEYS = ("state", "action", "reward", "next_state", "terminated", "truncated", "info")
"""Keys of every file; those of MASKS follow if the first episode has them."""
LIMIT = 1000
"""Number of episodes in a file."""
MOST_WAITING = 2**28
"""Bytes of episodes that are kept in memory while they cannot be written."""
MOST_RECOVERED = 2**32
"""Bytes of the largest file that is continued without a checkpoint's word on where it ends."""
STOP = pickle.STOP
"""Last byte of a file."""
_DEEPEST = 20


class TrajectoryWriter:
    """Writes results/trajs.pkl; from the 1001st episode on trajs_0.pkl, trajs_1.pkl, ... Opens no file before the first
    episode. Episodes that cannot be written (a full disk) wait in memory and are tried again with the next one; until
    they are written no checkpoint can be saved, so none is lost."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder, self.limit = folder, limit
        self._file: BinaryIO | None = None
        self._number = 0
        self._offset = 0
        """Position of the stop byte."""
        self._crc = 0
        """CRC-32 of the current file up to the stop byte."""
        self._episodes = 0
        """Number of episodes in the current file."""
        self._keys: tuple[str, ...] = KEYS
        """Keys of the current file; a further one has the same."""
        self._waiting: list[dict[str, bytes]] = []
        self._warned = False

    def add(self, episode: Mapping[str, Any]) -> None:
        """Writes an episode: arrays [T, ...] under each key, and info as a list of T dicts. Its masks are left out if
        the episodes before it in the files have none."""
        self._waiting.append(parts_of(episode))
        try:
            self._flush()
        except OSError as error:
            if sum(len(part) for parts in self._waiting for part in parts.values()) > MOST_WAITING:
                raise
            if not self._warned:
                LOGGER.warning("%s: %s; trajectories wait in memory", error.filename, error.strerror)
            self._warned = True

    def _flush(self) -> None:
        """Writes the waiting episodes."""
        if self._file is None:
            self.recover()
        while self._waiting:
            if self._episodes >= self.limit:
                self._next_file()
            parts = self._waiting[0]
            if not (self._episodes or self._number or tuple(parts) == self._keys):
                assert self._file is not None
                self._file.close()
                self._file = None  # after an error below, `recover` finds the end
                self._begin(0, 0, 0, 0, tuple(parts))
            self._write(b"".join(parts.get(key) or appended(i, None) for i, key in enumerate(self._keys)))
            self._episodes += 1
            del self._waiting[0]

    def recover(self) -> None:
        """Continues after the last whole episode on disk, if there is one."""
        number = max(self._numbers(), default=0)
        path = self._path(number)
        data = read_regular(path, MOST_RECOVERED) if path.exists() else b""
        episodes, offset = _whole_records(data)
        self._begin(number, offset, episodes, crc32(data[:offset]))

    def state(self) -> dict[str, int]:
        """Returns the end of the files, which is on the disk now: the state for an exact resume."""
        self._flush()
        assert self._file is not None
        with naming(self.path):
            os.fsync(self._file.fileno())
        return {"file": self._number, "offset": self._offset, "episodes": self._episodes, "crc": self._crc}

    def restore(self, state: Mapping[str, int]) -> bool:
        """Drops every episode that was written after this state. Returns False if the episodes before it in the newest
        file are no longer the bytes that were written."""
        if "offset" not in state:
            form = state.get("form")
            raise ValueError(f"its trajectories are in {form}; resume with general_cfg.collect_format={form}")
        self._waiting.clear()
        self.close()
        number, offset = int(state["file"]), int(state["offset"])
        for later in [n for n in self._numbers() if n > number]:
            self._path(later).unlink()
        path = self._path(number)
        if number == 0 and path.name != "trajs.pkl" and path.exists():
            path = path.rename(self.folder / "trajs.pkl")
        size = path.stat().st_size if path.exists() else 0
        # a crash may have cut the file at the offset before the stop byte was written
        if size < offset and state["episodes"]:
            raise ValueError(
                f"{as_written(path)} is shorter than at the checkpoint; general_cfg.collect_traj=false resumes "
                "without it"
            )
        crc = 0
        if path.exists():
            with open(path, "rb", opener=regular) as file:
                crc = checksum(file, offset)
        episodes = int(state["episodes"])
        self._begin(number, offset, episodes, crc)
        return not episodes or self._crc == state.get("crc", self._crc)

    def close(self) -> None:
        """Closes the file. Episodes that still wait are tried once more."""
        try:
            if self._waiting:
                self._flush()
        finally:
            self._waiting.clear()
            if self._file is not None:
                self._file.close()
                self._file = None

    @property
    def path(self) -> Path:
        """The current file."""
        return self._path(self._number)

    def _numbers(self) -> list[int]:
        """Returns the numbers of the existing files; trajs.pkl is 0."""
        names = [path.stem.removeprefix("trajs").removeprefix("_") or "0" for path in self.folder.glob("trajs*.pkl")]
        return sorted({int(name) for name in names if name.isdecimal()})

    def _path(self, number: int) -> Path:
        path = self.folder / f"trajs_{number}.pkl"
        return path if number or path.exists() else self.folder / "trajs.pkl"

    def _next_file(self) -> None:
        assert self._file is not None
        with naming(self.path):
            os.fsync(self._file.fileno())  # `state` will only do so for the file that follows
        self._file.close()
        self._file = None  # after an error below, `recover` finds the end
        if self._number == 0 and (self.folder / "trajs.pkl").exists():
            os.replace(self.folder / "trajs.pkl", self.folder / "trajs_0.pkl")
        self._begin(self._number + 1, 0, 0, 0)

    def _begin(self, number: int, offset: int, episodes: int, crc: int, keys: tuple[str, ...] | None = None) -> None:
        """Opens a file, cuts it at the offset and ends it there. keys: of an empty file; None: as they are."""
        ensure_folder(self.folder)
        path = self._path(number)
        is_new = not path.exists()
        # unbuffered, so that a record and its stop byte are one write
        file = open(path, "w+b" if is_new else "r+b", buffering=0, opener=regular)  # noqa: SIM115
        self._number, self._offset, self._episodes, self._crc = number, offset, episodes, crc
        if not episodes:
            self._offset = self._crc = 0
        try:
            with naming(path):
                if keys or not is_new:
                    self._keys = keys or _keys_in(file.read(len(header_of((*KEYS, *MASKS)))))
                file.truncate(self._offset)
            self._file = file
            self._write(b"" if episodes else header_of(self._keys))
            sync_folder(self.folder)  # also for an old file: the process that created it may have been killed
        except OSError:
            self._file = None
            file.close()
            raise

    def _write(self, record: bytes) -> None:
        """Writes the record over the stop byte. If that fails, the file ends as before."""
        assert self._file is not None
        data = record + STOP
        with naming(self.path):
            self._file.seek(self._offset)
            try:
                written = 0
                while written < len(data):
                    written += self._file.write(data[written:]) or 0
            except OSError:
                self._file.truncate(self._offset)
                self._file.seek(self._offset)
                self._file.write(STOP)
                raise
        self._offset += len(record)
        self._crc = crc32(record, self._crc)


def read(path: Path) -> dict[str, list[Any]]:
    """Returns the episodes of a file, ours or JoyRL's, or raises ValueError. Never runs code."""
    content = safe_pickle.load(path)
    if not isinstance(content, dict) or not all(isinstance(value, list) for value in content.values()):
        raise ValueError(f"{path} holds no trajectories: a dict of lists was expected")
    if len({len(value) for value in content.values()}) > 1:
        raise ValueError(f"{path} holds no trajectories: its lists differ in length")
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
            raise TypeError(f"{key} is an array of {value.dtype}; a trajectory holds numbers and text")
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
