"""Record of what a folder of this machine has in common with its copy in a store, and of where it is copied to."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from config.read.opening import read_regular
from config.read.task_files import COPIED_TO, COPY, GROUPS, TaskFiles
from framework.disk.atomic import write_whole
from framework.storage.index import Index, Parts, is_listable

MOST_BYTES, MOST_BYTES_OF_DESTINATION = 2**28, 2**16
"""Bytes of the files that are read."""
ASIDE = (".tmp", ".old", ".damaged")
"""Endings of files and folders that are being written, replaced, or kept for a look at what went wrong."""


class Stamp(NamedTuple):
    """Size, time of the last change, and number of a file: while they stay, so does its content."""

    size: int
    changed: int
    number: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


@dataclass
class Record:
    """The last state that a folder and its copy had in common."""

    url: str
    index: Index
    stamps: dict[str, Stamp] = field(default_factory=dict)
    """Path of a file -> its stamp when it was what the index says."""
    session: str = ""
    """Session that has copied this folder to the store; empty for a folder that was brought from there."""

    @classmethod
    def read(cls, folder: Path) -> "Record | None":
        """Returns the record of a folder; None if there is none that can be read."""
        try:
            value = json.loads(read_regular(folder / COPY, MOST_BYTES))
            stamps = {str(path): Stamp(*map(int, stamp)) for path, stamp in value["stamps"].items()}
            return cls(str(value["url"]), Index.from_json(value["index"]), stamps, str(value["session"]))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            return None

    def write(self, folder: Path) -> None:
        """Writes the record."""
        value: dict[str, Any] = {"url": self.url, "session": self.session, "index": self.index.to_json()}
        value["stamps"] = self.stamps
        write_whole(folder / COPY, json.dumps(value).encode())

    def parts_of(self, path: str, stamp: Stamp) -> Parts | None:
        """Returns the objects of a file that has not changed; None for another one."""
        return self.index.files.get(path) if self.stamps.get(path) == stamp else None

    def covers(self, index: Index) -> bool:
        """Returns True if the folder has at least what an index lists. A session that this folder has only read may
        have gone on, even if it was silent for long."""
        return self.session == index.owner.session or self.index.files == index.files


def destination(folder: Path) -> str | None:
    """Returns the URL that a folder is copied to, as was said on this machine; None for a folder that has come here by
    other means: what a stranger's files name gets nothing."""
    try:
        value = json.loads(read_regular(folder / COPIED_TO, MOST_BYTES_OF_DESTINATION))
        return str(value["url"]) if value["folder"] == os.stat(folder).st_ino else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def set_destination(folder: Path, url: str) -> None:
    """Notes where a folder is copied to, with the number that the file system gives this folder and no copy of it."""
    with contextlib.suppress(OSError):  # a full disk: then the user is asked to say it again
        write_whole(folder / COPIED_TO, json.dumps({"url": url, "folder": os.stat(folder).st_ino}).encode())


def size_in_store(folder: Path) -> int:
    """Returns the bytes of a run of which only a part was brought here; 0 for any other folder."""
    record = Record.read(folder)
    return 0 if record is None or record.session else record.index.size


def files_of(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yields the files of a run that belong into its copy, checkpoints first and then the journal: what is yielded
    later is at least as new, as a resume needs it. Of a group its own files alone, not those of its runs."""
    return (file for file in _all_files(folder) if is_listable(file[0]))


def unlistable(folder: Path) -> list[str]:
    """Returns the files that would belong into a copy, were it not for their names, which no index lists."""
    return [path for path, _ in _all_files(folder) if not is_listable(path)]


def _all_files(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    models = TaskFiles(folder).models
    numbers = [path for path in _folders(models) if path.name != "journal"]
    if any((folder / name).is_file() for name in GROUPS):
        yield from _named(folder, entries_in(folder))
        return
    for place in (*sorted(numbers), models / "journal"):
        yield from _named(folder, entries_in(place))
    yield from _named(folder, _below(folder, leave_out=models))


def pending(folder: Path, record: Record | None) -> dict[str, int]:
    """Returns the files that differ from the copy, with their sizes; those that are gone count, too."""
    here = {path: Stamp.of(entry.stat(follow_symlinks=False)) for path, entry in files_of(folder)}
    if record is None:
        return {path: stamp.size for path, stamp in here.items()}
    changed = {path: stamp.size for path, stamp in here.items() if record.parts_of(path, stamp) is None}
    return changed | {path: 0 for path in record.index.files if path not in here}


def entries_in(folder: Path | str) -> list[os.DirEntry[str]]:
    """Returns what is in a folder; nothing if it is gone."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _folders(folder: Path) -> list[Path]:
    entries = entries_in(folder)
    return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False) and not _is_aside(entry.name)]


def _below(folder: Path, leave_out: Path) -> Iterator[os.DirEntry[str]]:
    for entry in entries_in(folder):
        if entry.is_dir(follow_symlinks=False):
            if not _is_aside(entry.name) and Path(entry.path) != leave_out:
                yield from _below(Path(entry.path), leave_out)
        else:
            yield entry


def _named(folder: Path, entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    for entry in entries:
        if not _is_aside(entry.name) and entry.is_file(follow_symlinks=False):
            yield Path(entry.path).relative_to(folder).as_posix(), entry


def _is_aside(name: str) -> bool:
    return name.endswith(ASIDE) or name.startswith(".")
