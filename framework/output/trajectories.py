"""Episodes on disk, in JoyRL's format: a pickled dict of parallel lists, one entry per episode.

The file is a complete pickle after every episode, yet an episode is appended without writing the others again:

    header    an empty dict; each key with an empty list, remembered under a number
    record    per key: recall the list, the value, append it, forget the list        (one per episode)
    stop      one byte, which the next record overwrites in the same write
"""

import io
import os
import pickle
import pickletools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from framework.output import safe_pickle

KEYS = ("state", "action", "reward", "next_state", "terminated", "truncated", "info")
LIMIT = 1000
"""Episodes in a file."""
_DEEPEST = 20


class TrajectoryWriter:
    """results/trajs.pkl; from the 1001st episode on trajs_0.pkl, trajs_1.pkl, ... Touches no file until it must."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder, self.limit = folder, limit
        self._file: BinaryIO | None = None
        self._number = 0
        self._offset = 0
        """Place of the stop byte."""
        self._episodes = 0
        """In the current file."""

    def add(self, episode: Mapping[str, Any]) -> None:
        """Write an episode: arrays [T, ...] under each key, and info as a list of T dicts."""
        record = _record(episode)
        if self._file is None:
            self.recover()
        if self._episodes >= self.limit:
            self._next_file()
        self._write(record)
        self._episodes += 1

    def recover(self) -> None:
        """Go on after the last whole episode on disk, if there is one."""
        numbers = self._numbers()
        self._number = max(numbers, default=0)
        path = self._path(self._number)
        data = path.read_bytes() if path.exists() else b""
        self._episodes, self._offset = _whole_records(data)
        self._open(path)

    def state(self) -> dict[str, int]:
        """Where the files stand; what they hold is on the disk now."""
        if self._file is None:
            self.recover()
        assert self._file is not None
        os.fsync(self._file.fileno())
        return {"file": self._number, "offset": self._offset, "episodes": self._episodes}

    def restore(self, state: Mapping[str, int]) -> None:
        """Forget every episode that was written after this state."""
        self.close()
        number, offset = int(state["file"]), int(state["offset"])
        for later in [n for n in self._numbers() if n > number]:
            self._path(later).unlink()
        path = self._path(number)
        if number == 0 and path.name != "trajs.pkl" and path.exists():
            path = path.rename(self.folder / "trajs.pkl")
        size = path.stat().st_size if path.exists() else 0
        if size <= offset and state["episodes"]:
            raise ValueError(
                f"{path} is shorter than at the checkpoint; general_cfg.collect_traj=false goes on without it"
            )
        self._number, self._offset, self._episodes = number, offset, int(state["episodes"])
        self._open(path)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _numbers(self) -> list[int]:
        """Numbers of the files there are; trajs.pkl is 0."""
        names = [path.stem.removeprefix("trajs").removeprefix("_") or "0" for path in self.folder.glob("trajs*.pkl")]
        return sorted({int(name) for name in names if name.isdecimal()})

    def _path(self, number: int) -> Path:
        path = self.folder / f"trajs_{number}.pkl"
        return path if number or path.exists() else self.folder / "trajs.pkl"

    def _next_file(self) -> None:
        self.close()
        if self._number == 0 and (self.folder / "trajs.pkl").exists():
            os.replace(self.folder / "trajs.pkl", self.folder / "trajs_0.pkl")
        self._number += 1
        self._episodes = self._offset = 0
        self._open(self.folder / f"trajs_{self._number}.pkl")

    def _open(self, path: Path) -> None:
        """Cut the file at the offset and end it there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # unbuffered, so that a record and its stop byte are one write
        self._file = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115
        if not self._episodes:
            self._offset = 0
            self._file.truncate(0)
            self._write(_HEADER)
        else:
            self._file.truncate(self._offset)
            self._write(b"")

    def _write(self, record: bytes) -> None:
        """Put the record in place of the stop byte. If that fails, the file ends as before."""
        assert self._file is not None
        data = record + pickle.STOP
        self._file.seek(self._offset)
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:]) or 0
        except OSError:
            self._file.truncate(self._offset)
            self._file.seek(self._offset)
            self._file.write(pickle.STOP)
            raise
        self._offset += len(record)


def read(path: Path) -> dict[str, list[Any]]:
    """The episodes of a file, ours or JoyRL's: builtins and numpy arrays, or ValueError. Never runs code."""
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


_HEADER = (
    pickle.PROTO
    + b"\x03"
    + pickle.EMPTY_DICT
    + b"".join(_text(key) + pickle.EMPTY_LIST + _put(i) + pickle.SETITEM for i, key in enumerate(KEYS))
)


def _record(episode: Mapping[str, Any]) -> bytes:
    """One episode, as instructions that append it."""
    parts = []
    for i, key in enumerate(KEYS):
        value = [plain(step) for step in episode[key]] if key == "info" else np.asarray(episode[key])
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biufcSU":
            raise TypeError(f"{key} is an array of {value.dtype}; a trajectory holds numbers and text")
        parts.append(pickle.BINGET + bytes([i]) + _pickled(value) + pickle.APPEND + pickle.POP)
    return b"".join(parts)


def _pickled(value: Any) -> bytes:
    """A value without the pickle's frame, and without memo numbers that would clash with those of the lists."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=3)
    pickler.fast = True
    pickler.dump(value)
    return buffer.getvalue()[2:-1]


def plain(value: Any, depth: int = 0) -> Any:
    """Builtins and arrays as they are; anything else as its text."""
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
    """How many episodes a file holds whole, and where the last of them ends."""
    episodes, end, pops = 0, len(_HEADER), 0
    if not data.startswith(_HEADER):
        return 0, 0
    try:
        for opcode, _, place in pickletools.genops(data):
            pops += opcode.name == "POP"
            if opcode.name == "POP" and pops % len(KEYS) == 0:
                episodes, end = episodes + 1, (place or 0) + 1
    except ValueError:
        pass  # the torn tail
    return episodes, end
