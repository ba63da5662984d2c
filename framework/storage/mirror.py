"""Copies the folder of a run to a store while the run trains, in a thread of its own.

A pass looks for what has changed, puts it into new objects, and writes the index last: a reader sees the state of the
last pass or of the one before, and a checkpoint with all of its files or not at all. A run that is killed leaves the
state of its last pass. No error of a store reaches the training.
"""

import contextlib
import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from config.read import stores
from config.read.opening import regular
from config.read.paths import as_written
from config.read.task_files import GROUPS, TaskFiles
from config.read.tasks import group_of
from config.tell.language import tr
from framework.screen.formatting import byte_size, counted, sync_command
from framework.screen.stages import stage
from framework.storage.claim import Claim
from framework.storage.copy_record import (
    Record,
    Stamp,
    destination,
    entries_in,
    files_of,
    pending,
    set_destination,
    unlistable,
)
from framework.storage.errors import Claimed, Deleted, StorageError
from framework.storage.index import KEY, LONGEST_EVERY, PART_BYTES, Part, Parts
from framework.storage.store import Store

SECONDS_VARIABLE = "JOYSTICK_STORAGE_SECONDS"
"""Environment variable with the seconds between two passes."""
SECONDS = 30.0
LONGEST_PAUSE = 60.0
"""Seconds between two attempts, at most, while the store does not answer."""
PATIENCE = 90.0
"""Seconds for which the end of a run waits for a store that takes nothing."""
STOPPED_PATIENCE = 10.0
"""Seconds for the same if the run was asked to stop and the last pass had failed: batch systems kill half a minute
after SIGTERM, and the last line is to be said before."""
LOOK_SECONDS = 1.0
"""Seconds between two looks for a new checkpoint."""
LOOKS = 10
"""Number of times that the checkpoints are looked at again, if some were replaced meanwhile."""
Held = tuple[str, Path, Stamp]
"""Path of a file, a place where it can be read, and its stamp."""
LINKS = ".copying"
"""Folder with second names of the files that a pass copies: they stay whole while the run deletes the first ones."""


def seconds() -> float:
    """Returns the seconds between two passes."""
    with contextlib.suppress(ValueError):
        value = float(os.environ.get(SECONDS_VARIABLE, ""))
        if value > 0:
            return min(value, LONGEST_EVERY)
    return SECONDS


class Mirror:
    """The copy of a folder in a store. `upload` makes a pass; `start` begins a thread that makes them."""

    def __init__(
        self, folder: Path, url: str, take_over: bool = False, say: Callable[[str, bool], None] = print
    ) -> None:
        """say: tells a sentence; True as its second argument for a warning. Called from the thread, too."""
        self.folder, self.url, self.say = folder, url, say
        self.every = seconds()
        self.record = Record.read(folder)
        if self.record is not None and self.record.url != url:
            self.record = None
        self._take_over = take_over
        self._claim: Claim | None = None
        self._counter = 0
        self._uncommitted: dict[str, Part] = {}
        """Checksum -> an object that was put, and that no index lists yet."""
        self._unlisted: list[str] = []
        """Keys that the index listed before the last one: a reader may still be at them."""
        self._moved = time.monotonic()
        """Time of the last success."""
        self.fault: StorageError | None = None
        """Reason why the last pass failed; None after one that did not."""
        self.lost = False
        """True if another session has the claim: nothing more is copied."""
        self._told = False
        """True after a fault was told, until the store has everything again."""
        self._left_out: set[str] = set()
        """Files that were said to be left out."""
        self._ending, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    # passes -----------------------------------------------------------------------------------------------

    def take(self) -> None:
        """Takes the claim. Raises StorageError."""
        if self._claim is None:
            try:
                if self.record is None:  # the name of a folder here may be none that a command takes there
                    stores.destination(self.url)
            except ValueError as error:
                raise StorageError("{url!r} is not {what}", url=self.url, what=error, lasting=True) from None
            self._claim = Claim(Store(self.url), self.every, self.record, self._take_over)
        if self._claim.index is None:
            index = self._claim.take(self._pause)
            set_destination(self.folder, self.url)  # not before: a refused one would be asked for from then on
            self._record(self.record.stamps if self.record else {})
            self._unlisted = self._orphans(index.keys()) if index.files else []
            self._moved = time.monotonic()

    def _orphans(self, listed: set[str]) -> list[str]:
        """Returns the objects that sessions have left which were killed; those of the runs of a group are not its
        own."""
        keys = self._mine.store.keys()
        others = tuple(key.removesuffix(KEY) for key in keys if key.endswith(f"/{KEY}"))
        below = any((self.folder / name).is_file() for name in GROUPS)
        own = (key for key in keys if not key.startswith(others) and not (below and "/" in key))
        return [key for key in own if key not in listed and _session(key)]

    def upload(self, last: bool = False) -> None:
        """Makes a pass. last: True for the last one of this session. Raises StorageError."""
        self.take()
        claim = self._mine
        files, stamps = self._files()
        changed = files != claim.last.files
        if changed or last:
            before = claim.last.keys()
            claim.commit(files, closed=last)
            before |= {part.key for part in self._uncommitted.values()}
            self._uncommitted.clear()
            self._record(stamps)
            gone, self._unlisted = self._unlisted, sorted(before - claim.last.keys())
            with contextlib.suppress(StorageError):  # not every user may delete; what is left lies there unlisted
                claim.store.delete(gone if not last else [*gone, *self._unlisted])
        else:
            claim.beat()
            if self.record is not None:
                self.record.stamps = stamps
        self.fault, self._moved = None, time.monotonic()

    @property
    def _mine(self) -> Claim:
        """The claim, once it is taken."""
        assert self._claim is not None
        return self._claim

    def _record(self, stamps: dict[str, Stamp]) -> None:
        self.record = Record(self.url, self._mine.last, stamps, self._mine.owner.session)
        with contextlib.suppress(OSError):  # a full disk costs what it must: the next session compares all files
            self.record.write(self.folder)

    def _files(self) -> tuple[dict[str, Parts], dict[str, Stamp]]:
        """Puts what has changed, and returns the objects of all files with the stamps of these."""
        files: dict[str, Parts] = {}
        stamps: dict[str, Stamp] = {}
        for path in set(unlistable(self.folder)) - self._left_out:
            self._left_out.add(path)
            self.say(tr("{path!r} is not copied: a store keeps no file of such a name", path=path), True)
        try:
            for path, place, stamp in self._held():
                parts = self.record.parts_of(path, stamp) if self.record else None
                try:
                    files[path] = self._put(path, place) if parts is None else parts
                    stamps[path] = stamp
                except FileNotFoundError:  # on a file system without links
                    raise StorageError("{path} was deleted while it was copied", path=path) from None
        finally:
            shutil.rmtree(self.folder / LINKS, ignore_errors=True)
        return files, stamps

    def _held(self) -> list[Held]:
        """Returns the files with the places where they can be read and their stamps. What has changed gets a second
        name at once, in the order that a resume needs, so that the run may delete and rename the first one."""
        for _ in range(LOOKS):
            before = self._checkpoints()
            with contextlib.suppress(FileNotFoundError):  # it was deleted or renamed meanwhile
                held = self._look()
                # a list of a folder that changes may lack what was renamed; a checkpoint that was replaced may have
                # given us a file of each
                if self._checkpoints() == before and {path for path, _ in files_of(self.folder)} == {
                    p for p, *_ in held
                }:
                    return held
        raise StorageError("the files in {folder} change too fast", folder=as_written(self.folder))

    def _checkpoints(self) -> dict[str, int]:
        """Returns the folders of checkpoints with their numbers on the disk."""
        entries = entries_in(TaskFiles(self.folder).models)
        return {entry.name: entry.inode() for entry in entries if entry.is_dir(follow_symlinks=False)}

    def _look(self) -> list[Held]:
        held: list[Held] = []
        shutil.rmtree(self.folder / LINKS, ignore_errors=True)
        for path, entry in files_of(self.folder):
            place = Path(entry.path)
            stamp = Stamp.of(os.stat(place, follow_symlinks=False))
            if not (self.record and self.record.parts_of(path, stamp)):
                place = self._linked(path, place)
            held.append((path, place, stamp))
        return held

    def _linked(self, path: str, place: Path) -> Path:
        link = self.folder / LINKS / path
        link.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(place, link)
        except FileNotFoundError:
            raise
        except OSError:  # a file system without links
            return place
        return link

    def _put(self, path: str, place: Path) -> Parts:
        """Puts a file, except for those of its parts that are in the store."""
        files = self._mine.last.files
        listed = {part.sha256: part for part in files.get(path, ())}
        if path.startswith("models/best/"):  # the same file as that of a numbered checkpoint
            name = PurePosixPath(path).name
            listed |= {p.sha256: p for other, parts in files.items()
                       if other.endswith(f"/{name}") for p in parts}  # fmt: skip
        parts: list[Part] = []
        with open(place, "rb", opener=regular) as file:
            while (data := file.read(PART_BYTES)) or not parts:
                digest = hashlib.sha256(data).hexdigest()
                part = listed.get(digest) or self._uncommitted.get(digest)
                parts.append(part or self._put_part(path, digest, data))
                if len(data) < PART_BYTES:
                    break
        return tuple(parts)

    def _put_part(self, path: str, digest: str, data: bytes) -> Part:
        self._mine.beat()
        self._counter += 1
        pure = PurePosixPath(path)
        name = f"{pure.stem}.{self._mine.owner.session}-{self._counter}{pure.suffix}"
        part = Part(str(pure.with_name(name)), len(data), digest)
        self._mine.store.put(part.key, data)
        self._uncommitted[digest] = part
        self._moved = time.monotonic()
        return part

    # the thread -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Takes the claim. A store that does not answer is asked again by the thread. Raises StorageError for what
        waiting does not mend."""
        try:
            self.take()
            self.say(tr("copied while it trains: {url}", url=self.url), False)
        except StorageError as error:
            if error.lasting:
                raise
            set_destination(self.folder, self.url)  # what is left is copied there by a later command
            self.fault = error
            self._tell_fault()

    def _tell_fault(self) -> None:
        if not self._told:
            self.say(tr("{fault}; the training goes on, and what it writes is copied later", fault=self.fault), True)
        self._told = True

    def start(self) -> None:
        """Begins to copy in a thread."""
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = 1.0
        while True:
            last, checkpoints = self._ending.is_set(), self._checkpoints()
            try:
                self.upload(last)
                if self._told:
                    self.say(tr("{url} has everything again", url=self.url), False)
                pause, self._told = 1.0, False
            except Claimed as error:
                self.fault, self.lost = error, True
                self.say(str(error), True)
                break
            except Exception as error:  # whatever a library of a store raises: the training goes on
                self.fault = (
                    error if isinstance(error, StorageError) else StorageError(f"{type(error).__name__}: {error}")
                )
                self._tell_fault()
            if (last and (self.fault is None or self.fault.lasting)) or self._stopped.is_set():
                break
            if self.fault is None:
                self._rest(checkpoints)
            elif self._ending.is_set():
                self._stopped.wait(min(pause, LONGEST_PAUSE / 8))
                pause *= 2
            else:
                self._ending.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        self._stopped.set()

    def _rest(self, checkpoints: dict[str, int]) -> None:
        """Waits for the next pass: until its time has come, there is another checkpoint, or the run ends."""
        due = time.monotonic() + self.every
        while not self._ending.wait(min(LOOK_SECONDS, self.every)) and time.monotonic() < due:
            if self._checkpoints() != checkpoints:
                break

    def _pause(self, wait: float) -> None:
        if self._stopped.wait(wait) if self._thread is not None else time.sleep(wait):  # type: ignore[func-returns-value]
            raise StorageError("stopped")

    def close(self, stopped: bool = False) -> None:
        """Copies what is left, and ends the thread; gives up once the store takes nothing for a while. stopped: True
        for a run that was asked to stop."""
        patience = STOPPED_PATIENCE if stopped and self.fault is not None else PATIENCE
        self._ending.set()
        if self._thread is None:  # the run has ended before it began to train
            try:
                self.upload(last=True)
            except StorageError as error:
                self.fault, self.lost = error, isinstance(error, Claimed)
        else:
            self._moved = time.monotonic()
            with stage(tr("copying the rest to {url}", url=self.url)):
                try:
                    while not self._stopped.wait(0.05) and time.monotonic() - self._moved < patience:
                        pass
                finally:
                    self._stopped.set()
        if not self.is_behind:
            self.say(tr("copied to {url}", url=self.url), False)
        else:
            self.say(str(self.fault) if self.lost and not self._is_deleted else self._left(), True)

    @property
    def is_behind(self) -> bool:
        """True unless the store has everything of a session that has ended."""
        claimed = self._claim is not None and self._claim.index is not None and self._claim.index.closed
        return self.fault is not None or not claimed

    @property
    def _is_deleted(self) -> bool:
        """True if the copy was deleted, or the disk that it is on is gone: another session can copy all of it again."""
        return isinstance(self.fault, Deleted)

    def _left(self) -> str:
        """Returns what is not copied, why, and the command that does it."""
        left = pending(self.folder, None if self._is_deleted else self.record)
        reason = self.fault or tr("there was no time")
        return tr(
            "{url} lacks {files} ({size}) of {folder}: {reason}. To copy the rest: {command}",
            url=self.url,
            files=counted(len(left), "file"),
            size=byte_size(sum(left.values())),
            folder=as_written(self.folder),
            reason=reason,
            command=sync_command(self.folder),
        )


def url_of(folder: Path, storage: str | None, explicit: bool) -> str | None:
    """Returns where a folder is copied to; None for nowhere. storage: URL of the folder of its copy, of which the name
    is that of the folder, with its group. explicit: True if the user has written that now; otherwise the copy is where
    it was before, and only a folder that was copied from this machine, or whose group was, has one."""
    before, group = destination(folder), group_of(folder)
    if before is not None and (not explicit or (storage and before.startswith(f"{storage}/"))):
        return before
    if storage is None:
        return None
    if explicit:
        return f"{storage}/{folder.relative_to(group.parent).as_posix() if group else folder.name}"
    above = destination(group) if group else None
    return f"{above}/{folder.relative_to(group).as_posix()}" if group and above else None


def mirror_of(
    folder: Path, storage: str | None, explicit: bool, take_over: bool, say: Callable[[str, bool], None]
) -> Mirror | None:
    """Returns the mirror of a folder; None if it is copied nowhere."""
    url = url_of(folder, storage, explicit)
    if url is not None:
        return Mirror(folder, url, take_over, say)
    if storage is not None:
        say(
            tr(
                "{folder} is not copied to {storage}, which its settings name: this folder has come here by other "
                "means; general_cfg.storage={storage} copies it there",
                folder=as_written(folder),
                storage=storage,
            ),
            False,
        )
    return None


def _session(name: str) -> str:
    """Returns the session in the name of an object; empty for a name that is not one of ours."""
    pieces = (re.fullmatch(r"([0-9a-f]{8})-\d+", piece) for piece in PurePosixPath(name).name.split("."))
    return next((piece[1] for piece in pieces if piece), "")
