"""The index of a run in a store: who writes it, and which objects are its files. It is the only object that is ever
replaced, and it is written last: what it does not list is not there.

PREFIX/NAME/joystick.json          the index, with its own checksum in the last line
PREFIX/NAME/models/500/manifest.k3fq91-4.json
PREFIX/NAME/results/train.k3fq91-7.csv
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import socket
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from config import machine
from config.read.task_files import MOST_NAME, file_and_folder
from config.tell.language import tr
from config.tell.names import printable
from framework.storage.errors import StorageError

KEY = "joystick.json"
FORMAT = 1
PART_BYTES = 8 * 2**20
"""Size of the objects that a larger file is cut into: a file that grows costs one of them each time."""
MOST_BYTES = 2**28
LONGEST_EVERY = 7 * 86400.0
"""Seconds between two beats, at most: who takes a run over waits for a multiple of them."""
LATEST = 2.0**33
"""Time of a change, at most; it becomes that of a folder, and file systems have an end of time."""
MOST_BEATS = 2**53
MOST_PATH = 1024
"""Bytes of a path, as S3 takes them: below the folder of the cache, it is one that the system takes."""
MOST_TEXT = 255
"""Characters of the name of a run, and of each fact about its owner."""
MARK = 40
"""Bytes that the name of a file grows by in a store, while an object is put there."""
ALWAYS = ("results", "logs", "models")
"""Folders that a run has from its first moment."""
MOST_SHOWN = 80
"""Characters of a value that are shown."""
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\\]")
"""Characters that no path has here: control characters, bytes that are no UTF-8, and what Windows takes for a slash."""
Parts = tuple["Part", ...]


class Part(NamedTuple):
    """An object that is a file, or a part of one."""

    key: str
    size: int
    sha256: str


class Owner(NamedTuple):
    """The session that writes a run to a store."""

    session: str
    """Random name."""
    host: str
    process: str
    """Number and start of its process."""
    since: str
    space: str = ""
    """Start of the machine, and namespace of its numbers, in which this number means the process; empty if unknown."""

    @classmethod
    def here(cls) -> "Owner":
        """Returns a new session of this process."""
        since = time.strftime("%Y-%m-%d %H:%M:%S %z")
        return cls(secrets.token_hex(4), socket.gethostname(), _process(os.getpid()), since, _space())

    def is_dead(self) -> bool:
        """Returns True if its process was one of this machine and has ended. Machines, and containers of one machine,
        may share the name of their host; only where numbers mean the same does a missing one mean anything."""
        number = self.process.partition(" ")[0]
        is_here = self.host == socket.gethostname() and self.space != "" and self.space == _space()
        return is_here and number.isdecimal() and _process(int(number)) != self.process

    def __str__(self) -> str:
        return tr(
            "{host}, process {process}, since {since}",
            host=printable(self.host),
            process=printable(self.process.partition(" ")[0]),
            since=printable(self.since),
        )


def _process(number: int) -> str:
    """Returns the number of a process with the time of its start, in ticks since the machine began; empty if there is
    none. A container may give the same number to each of its programs."""
    with contextlib.suppress(OSError, IndexError):
        boot, words = _boot(), machine.stat_of(number)
        state, start = words[0], words[19]
        return "" if state == "Z" else f"{number} {start} {boot}"
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return ""
    except OSError:
        pass
    return f"{number}"


def _space() -> str:
    """Returns the start of this machine and the namespace in which this process has its number; empty where the system
    does not tell them."""
    try:
        return f"{_boot()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def _boot() -> str:
    """Returns the random name that Linux gives each start of a machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@dataclass(frozen=True)
class Index:
    """Files of a run in a store at one moment."""

    run: str
    """Random name of the run, which its copies share."""
    owner: Owner
    beat: int = 0
    """Number of times that the index was written. While it grows, the owner is alive."""
    every: float = 30.0
    """Seconds between two beats."""
    closed: bool = False
    """True if the owner has ended in an orderly way, and has left nothing out."""
    written: float = 0.0
    """Time of the last change, by the clock of the owner."""
    files: dict[str, Parts] = field(default_factory=dict)
    """Path in the task directory -> the objects that it consists of."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(part.size for parts in self.files.values() for part in parts)

    @property
    def checkpoints(self) -> list[int]:
        """Numbers of the checkpoints."""
        return sorted({int(name) for path in self.files if (name := checkpoint_of(path)).isdecimal()})

    def keys(self) -> set[str]:
        """Returns the keys of its objects."""
        return {part.key for parts in self.files.values() for part in parts}

    def next(self, files: dict[str, Parts] | None = None, closed: bool = False) -> "Index":
        """Returns the index to be written next."""
        files = self.files if files is None else files
        return replace(self, beat=self.beat + 1, written=time.time(), files=files, closed=closed)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT, "run": self.run, "owner": self.owner._asdict(), "beat": self.beat, "every": self.every,
            "closed": self.closed, "written": self.written,
            "files": {path: self.files[path] for path in sorted(self.files)},
        }  # fmt: skip

    def to_bytes(self) -> bytes:
        """Returns it as JSON with its own checksum in the last line."""
        text = json.dumps(self.to_json(), ensure_ascii=True).encode()
        return text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n"

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Index":
        """Inverts to_json. Raises ValueError for anything else: a folder in a store may come from a stranger."""
        if value["format"] != FORMAT:
            shown = _shown(value["format"])
            raise ValueError(tr("format {format}; this version reads {known}", format=shown, known=FORMAT))
        files = {_safe(path): tuple(_part(part) for part in parts) for path, parts in value["files"].items()}
        if path := file_and_folder(files, ALWAYS):
            raise ValueError(tr("{path} is a file and a folder at once", path=_shown(path)))
        owner = Owner(**{name: _text(({"space": ""} | value["owner"])[name]) for name in Owner._fields})
        beat, every = int(_number(value["beat"], MOST_BEATS)), float(_number(value["every"], LONGEST_EVERY))
        written = float(_number(value["written"], LATEST))
        return cls(_text(value["run"]), owner, beat, every, bool(value["closed"]), written, files)

    @classmethod
    def from_bytes(cls, data: bytes, url: str) -> "Index":
        """Inverts to_bytes. Raises StorageError if it is damaged."""
        text, _, digest = data.rstrip(b"\n").rpartition(b"\n")
        try:
            if len(data) > MOST_BYTES or hashlib.sha256(text).hexdigest().encode() != digest:
                raise ValueError(tr("it does not match its own checksum"))
            return cls.from_json(_parsed(text))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            why = error if isinstance(error, ValueError) else tr("it is not the list of the files of a run")
            raise StorageError("{url}/{key} is damaged: {error}", url=url, key=KEY, error=why, lasting=True) from None


def _parsed(text: bytes) -> Any:
    """Returns the value of JSON. Raises ValueError without one, and for numbers of thousands of digits."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(tr("it is no JSON that can be read")) from None


def checkpoint_of(path: str) -> str:
    """Returns the name of the checkpoint that a file belongs to: its number, or best; empty for any other file."""
    names = path.split("/")
    return names[1] if len(names) == 3 and names[0] == "models" and names[1] != "journal" else ""


def is_listable(path: str) -> bool:
    """Returns True for the path of a file that an index can list, and whose objects have names that it can list."""
    try:
        return len(_safe(path).rpartition("/")[2].encode()) <= MOST_NAME - MARK
    except ValueError:
        return False


def _safe(path: str) -> str:
    """Returns a path that stays within a folder, and that a disk can have. Raises ValueError for another one."""
    names = path.split("/")
    if _ODD.search(path) or not all(name and not name.startswith(".") for name in names):
        raise ValueError(tr("{path} is not the path of a file", path=_shown(path)))
    if max(len(name.encode()) for name in names) > MOST_NAME or len(path.encode()) > MOST_PATH:
        limits = {"name": MOST_NAME, "whole": MOST_PATH}
        raise ValueError(tr("{path} is too long: a path has up to {whole} bytes, and each name in it up to {name}",
                            path=_shown(path), **limits))  # fmt: skip
    return path


def _text(value: Any) -> str:
    """Returns a short text. Raises ValueError for anything else."""
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise ValueError(tr("{value} is not a text of up to {most} characters", value=_shown(value), most=MOST_TEXT))
    return value


def _number(value: Any, most: float) -> int | float:
    """Returns a number from 0 to a limit. Raises ValueError for another one, and for what is not finite."""
    if type(value) not in (int, float) or not 0 <= value <= most:
        raise ValueError(tr("{value} is not a number from 0 to {most:g}", value=_shown(value), most=most))
    return value


def _part(value: Any) -> Part:
    key, size, digest = value
    if type(size) is not int or not 0 <= size <= PART_BYTES or not re.fullmatch("[0-9a-f]{64}", digest):
        raise ValueError(tr("{value} is not the size and the checksum of an object", value=_shown([size, digest])))
    return Part(_safe(key), size, digest)


def _shown(value: Any) -> str:
    """Returns the beginning of a value as it stands in an index: a stranger's may be of any length."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
