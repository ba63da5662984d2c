"""Brings runs from a store to this machine: what a command needs of them, each object compared with its checksum.

A run that is read lies in the user's cache, where a later command brings what is new; one that is trained further gets
its folder among the runs here. Whoever asks for a folder gets one, and reads it as any other.
"""

import contextlib
import fnmatch
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import IO

from config.program import PROGRAM
from config.read.opening import regular
from config.read.paths import as_written, fixed, spell
from config.read.stores import PATTERN, StoreError, of_run
from config.read.task_files import GROUPS, LOCK, NOTES, REPORT, RUN
from config.system.folders import user_cache
from config.tell.language import tr
from config.tell.names import did_you_mean, printable
from config.tell.system_errors import reason_of
from framework.disk.atomic import discard, ensure_folder, finish_folder
from framework.disk.task_dir import held_lock, is_locked
from framework.errors import of_machine
from framework.screen.formatting import byte_size
from framework.screen.stages import stage
from framework.storage import claim
from framework.storage.copy_record import Record, Stamp, files_of, pending, set_destination
from framework.storage.errors import MissingObject, StorageError
from framework.storage.index import ALWAYS, KEY, Index, Parts, checkpoint_of
from framework.storage.store import Store, patiently

CACHE_VARIABLE = "JOYSTICK_CACHE"
"""Environment variable with the folder for copies, in place of ~/.cache/joystick."""
ATTEMPTS = 6
"""Number of times that a store is asked before a command gives up."""
AT_ONCE = 8
"""Number of objects that are read side by side."""
MOST_LISTED = 20
"""Names in a message."""
FILES_OF_A_RUN = ("config.yaml", RUN)
"""Files of which a run has one at least; without both, a folder is none."""
UNTRAINED = {REPORT, NOTES}
"""Files that change without training: a test draws the report anew, and notes are the user's."""
Wanted = Callable[[str, Index], bool]
"""Returns True for a file that is needed."""
_held: dict[Path, IO[str]] = {}
"""Locks on copies whose run is being written elsewhere: such a run counts as running here, too."""


def cache() -> Path:
    """Returns the user's folder for copies."""
    if place := os.environ.get(CACHE_VARIABLE):
        return Path(place).absolute()
    return user_cache() / "stores"


def place_of(url: str) -> Path:
    """Returns the folder in the cache for a URL."""
    scheme, _, path = url.partition("://")
    place = cache() / scheme / path.strip("/")
    spell(place, url)
    return place


# ---------------------------------------------------------------------------------------------- what is needed


def everything(path: str, index: Index) -> bool:
    """Returns True for every file."""
    return True


def facts(path: str, index: Index) -> bool:
    """Returns True for a file that a list of runs shows, or that marks a group."""
    return path in ("config.yaml", RUN, NOTES, *GROUPS) or ("/" not in path and path.endswith(".csv"))


def results(path: str, index: Index) -> bool:
    """Returns True for all files but the weights and the transitions."""
    return not path.startswith("models/") or path.endswith("/manifest.json")


def model(which: str | int, with_journal: bool) -> Wanted:
    """Returns what is needed of a run to load a checkpoint, with what is known of the run. which: best, latest or its
    number."""

    def wanted(path: str, index: Index) -> bool:
        if results(path, index):
            return not path.startswith(("tb_logs/", "videos/"))
        numbers = index.checkpoints
        has_best = any(checkpoint_of(file) == "best" for file in index.files)
        newest = which == "latest" or (which == "best" and not has_best)
        name = str(numbers[-1]) if newest and numbers else str(which)
        journal = path.startswith("models/journal/")
        return (journal and (with_journal or newest)) or checkpoint_of(path) == name

    return wanted


# ---------------------------------------------------------------------------------------------- for config


def bring(url: str, tasks: Path, go_on: bool, which: str | int | None, take_over: bool) -> Path:
    """Does what `stores.bring` promises."""
    try:
        if go_on:
            return working_copy(url, tasks, take_over)
        return cached(url, facts if which is None else model(which, with_journal=which != "best"))
    except StorageError as error:
        raise StoreError(str(error)) from error


def can_go_on(url: str) -> bool:
    """Returns True if a store has a run with a checkpoint, or a group."""
    index = _index(Store(url))
    return index is not None and bool(index.checkpoints or any(name in index.files for name in GROUPS))


def cached(url: str, wanted: Wanted) -> Path:
    """Brings a run to the cache, and returns its folder there."""
    store, folder = Store(url), place_of(url)
    with stage(tr("reading {url}", url=url)):
        index = _index(store)
        if index is None:
            raise StorageError(_absent(store), lasting=True)
        _bring(store, folder, index, wanted)
    return folder


def working_copy(url: str, tasks: Path, take_over: bool) -> Path:
    """Brings a run here to be trained further, and returns its folder under tasks/. One that is there already, and that
    nobody else has trained since, is taken as it is: it has at least what the store has."""
    try:
        _, name = of_run(url)
    except ValueError as error:
        raise StorageError("{url!r} is not {what}", url=url, what=error, lasting=True) from None
    store, folder = Store(url), fixed(tasks / name)
    record = _record_here(folder, url)
    try:
        _, index = patiently(lambda: claim.wait_until_free(store, record, take_over), ATTEMPTS, time.sleep)
    except StorageError as error:
        if record is None or error.lasting:
            raise
        return folder  # it goes on here, and the store gets the rest once it answers
    if index is None:
        raise StorageError(_absent(store), lasting=True)
    if any(name in index.files for name in GROUPS):
        if record is None:
            _make(folder, lambda new: _bring_group(store, new, take_over))
        else:
            _bring_group(store, folder, take_over)
        return folder
    if not index.checkpoints:
        text = tr("{url} has no checkpoint yet; {program} --into {url} with the settings of the run begins it anew",
                  url=url, program=PROGRAM)  # fmt: skip
        raise StorageError(text, lasting=True)
    _bring_newer(store, folder, index, record)
    return folder


def _bring_newer(store: Store, folder: Path, index: Index, record: Record | None) -> None:
    """Brings all files of a run, if the store has what the folder lacks. Raises StorageError if both have gone on."""
    if record is None or _is_behind(record, index, folder, store.url):
        with stage(tr("bringing {url} here, {size}", url=store.url, size=byte_size(index.size))):
            if record is None:
                _make(folder, lambda new: _bring(store, new, index, everything))
            else:
                _bring(store, folder, index, everything)


def _record_here(folder: Path, url: str) -> Record | None:
    """Returns the record of the folder in which a run is to go on; None if the folder does not exist yet. Raises
    StorageError for another folder of this name."""
    if not os.path.lexists(folder):
        return None
    record = Record.read(folder)
    if record is None or record.url != url:
        text = tr("{folder} exists, and is no copy of {url}; move it away, or work in another folder",
                  folder=as_written(folder), url=url)  # fmt: skip
        raise StorageError(text, lasting=True)
    if is_locked(folder):
        raise StorageError("{folder} is being written by another run", folder=as_written(folder), lasting=True)
    return record


def _make(folder: Path, fill: Callable[[Path], object]) -> None:
    """Makes a folder, whole or not at all."""
    ensure_folder(folder.parent)
    with _aside(folder.parent) as place:
        fill(place / folder.name)
        finish_folder(place / folder.name, folder)


def _bring_group(store: Store, folder: Path, take_over: bool, levels: int = 4) -> None:
    """Brings a group with all of its runs here, to be trained further; of one that is here, what the store has newer.
    Each of its runs is a copy of its own: any of them may have gone on elsewhere."""
    record = Record.read(folder)
    _, index = patiently(lambda: claim.wait_until_free(store, record, take_over), ATTEMPTS, time.sleep)
    if index is not None:
        record = _record_here(folder, store.url)
        if not index.closed and (record is None or record.session != index.owner.session):
            index = _closed(store, index)  # the processes of its runs are told of no --take-over
        _bring_newer(store, folder, index, record)
    if levels and (index is None or any(name in index.files for name in GROUPS)):
        for name in _folders(store):
            _bring_group(store.below(name), folder / name, take_over, levels - 1)


def _closed(store: Store, index: Index) -> Index:
    """Ends the claim of a writer that was killed."""
    mine = claim.Claim(store, index.every, Record(store.url, index), take_over=True)
    return mine.commit(mine.take().files, closed=True)


def _is_behind(record: Record, index: Index, folder: Path, url: str) -> bool:
    """Returns True if the store has gone on since the folder was copied. Raises StorageError if both have."""
    if record.index.run != index.run:
        text = tr("{folder} is another run than {url}; move it away", folder=as_written(folder), url=url)
        raise StorageError(text, lasting=True)
    if record.covers(index):
        return False
    if pending(folder, record).keys() - UNTRAINED:
        text = tr(
            "{folder} and {url} have both gone on since they were the same; to go on from the store, "
            "move the folder away",
            folder=as_written(folder),
            url=url,
        )
        raise StorageError(text, lasting=True)
    return True


# ---------------------------------------------------------------------------------------------- several runs


def note(text: str) -> None:
    """Prints which run is left out, and why."""
    print(text, file=sys.stderr)


def find(word: str) -> list[Path]:
    """Brings the results of the runs that a URL names, perhaps a group or a pattern, and returns their folders. Notes
    which runs of a group are left out."""
    parent, _, name = word.rstrip("/").rpartition("/")
    if any(mark in name for mark in PATTERN):
        names = [folder for folder in _folders(Store(parent)) if fnmatch.fnmatch(folder, name)]
        if not names:
            raise StorageError("{url} has no run like {name!r}", url=parent, name=name, lasting=True)
        return [found for each in names for found in find(f"{parent}/{each}")]
    folder = cached(word, results)
    if any((folder / group).is_file() for group in GROUPS):
        for text in _below(Store(word), folder, results):
            note(text)
    return [folder]


def listed(url: str, wanted: Wanted = facts, say: Callable[[str], object] = note) -> Path:
    """Brings what a list of the runs in a folder of a store shows, and returns the folder in the cache. What is gone
    from the store is deleted there. The URL may be that of a single run. say: tells which runs are left out."""
    store, folder = Store(url.rstrip("/")), place_of(url)
    left_out: list[str] = []
    with stage(tr("reading {url}", url=url)):
        index = _index(store)
        if index is not None:
            _bring(store, folder, index, wanted)
        if index is None or any(name in index.files for name in GROUPS):
            left_out = _below(store, folder, wanted)
    for text in left_out:
        say(text)
    ensure_folder(folder)
    return folder


def _below(store: Store, folder: Path, wanted: Wanted, levels: int = 3) -> list[str]:
    """Brings the runs in a folder of a store. Returns a sentence for each one that cannot be brought: a damaged run
    must not hide the others, nor be passed over in silence. levels: of folders below, as a tuning has them:
    trials/5/seed_1."""
    names = _folders(store)
    for path in [path for path in _folders_here(folder) if path.name not in names and _is_copy(path)]:
        discard(path)

    def one(name: str) -> list[str]:
        place, left_out = folder / name, list[str]()
        try:
            inner = store.below(name)
            index = _index(inner)
        except StorageError as error:
            if error.lasting:
                return [_left_out(str(error), place)]
            raise
        if index is not None and (fault := _fault(inner, place, index, wanted)):
            left_out.append(_left_out(fault, place))
        if levels > 1 and (index is None or any(group in index.files for group in GROUPS)):
            left_out += _below(inner, place, wanted, levels - 1)
        return left_out

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return [text for left_out in threads.map(one, names) for text in left_out]


def _fault(store: Store, folder: Path, index: Index, wanted: Wanted) -> str:
    """Brings a run of several. Returns why it cannot be listed; empty if it can."""
    try:
        _bring(store, folder, index, wanted)
    except StorageError as error:
        return str(error)
    except OSError as error:
        if of_machine(error):
            raise
        return tr("{url} cannot be brought here: {reason}", url=store.url, reason=reason_of(error))
    if index.files.keys() & {*FILES_OF_A_RUN, *GROUPS}:
        return ""
    return tr("{url} has neither {config} nor {run}", url=store.url, config=FILES_OF_A_RUN[0], run=RUN)


def _left_out(fault: str, folder: Path) -> str:
    """Returns what becomes of a run in a list, and why. Names in a store may be of any length and characters."""
    is_shown, fault = any(os.path.isfile(folder / name) for name in FILES_OF_A_RUN), printable(fault)
    return tr("shown as it was before: {fault}", fault=fault) if is_shown else tr("left out: {fault}", fault=fault)


def _folders(store: Store) -> list[str]:
    """Returns the names of the folders in a folder of runs or a group, of which each may be a run."""
    return [name for name in patiently(store.folders, ATTEMPTS, time.sleep) if not name.startswith(".")]


def _folders_here(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def _is_copy(folder: Path) -> bool:
    return Record.read(folder) is not None


# ---------------------------------------------------------------------------------------------- one run


def _index(store: Store) -> Index | None:
    try:
        data = patiently(lambda: store.get(KEY), ATTEMPTS, time.sleep)
    except MissingObject:
        return None
    return Index.from_bytes(data, store.url)


def _bring(store: Store, folder: Path, index: Index, wanted: Wanted) -> None:
    """Brings the wanted files of a run, and deletes those here that it has no more. A writer may delete an object right
    after the index was read: then the index is read again."""
    ensure_folder(folder)
    try:
        index = _brought(store, folder, index, wanted)
    except BaseException:
        with contextlib.suppress(OSError):  # what is in it was there before
            folder.rmdir()
        raise
    with contextlib.suppress(OSError):
        os.utime(folder, (index.written, index.written))
    _mark_running(folder, index)


def _brought(store: Store, folder: Path, index: Index, wanted: Wanted) -> Index:
    """Brings the wanted files, and returns the index that lists them."""
    for attempt in range(ATTEMPTS):
        try:
            _bring_all(store, folder, index, wanted)
            break
        except MissingObject as error:
            if attempt == ATTEMPTS - 1:
                raise StorageError("{url} is incomplete: {error}", url=store.url, error=error, lasting=True) from None
            time.sleep(0.2 * 2**attempt)
            index = _index(store) or index
    return index


def _bring_all(store: Store, folder: Path, index: Index, wanted: Wanted) -> None:
    record = Record.read(folder)
    before = record.stamps if record is not None and record.index.run == index.run else {}
    objects = record.index.files if record is not None else {}
    stamps: dict[str, Stamp] = {}
    missing: list[tuple[str, Parts]] = []
    here = {path: Stamp.of(entry.stat(follow_symlinks=False)) for path, entry in files_of(folder)}
    # tags and a note that were given to this copy are the user's; those that were brought have their stamp
    kept_here = {NOTES} & here.keys() if before and here.get(NOTES) != before.get(NOTES) else set()
    for path, parts in index.files.items():
        if not wanted(path, index) or path in kept_here:
            continue
        if here.get(path) is not None and before.get(path) == here.get(path) and objects.get(path) == parts:
            stamps[path] = here[path]
        else:
            missing.append((path, parts))
    with _aside(folder) as place, ThreadPoolExecutor(AT_ONCE) as threads:
        # the folder changes once everything is here: what cannot be brought leaves it as it was
        list(threads.map(lambda file: _file(store, place / file[0], file[1]), missing))
        for path in here.keys() - index.files.keys() - kept_here:
            (folder / path).unlink(missing_ok=True)
            _drop_empty(folder, path)
        for path, _ in missing:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(place / path, folder / path)
            stamps[path] = Stamp.of((folder / path).stat(follow_symlinks=False))
    for name in ALWAYS if not any(group in index.files for group in GROUPS) else ():
        (folder / name).mkdir(exist_ok=True)
    kept = {path: stamp for path, stamp in here.items() if path in index.files and path not in stamps
            and objects.get(path) == index.files[path] and before.get(path) == stamp}  # fmt: skip
    Record(store.url, index, kept | stamps).write(folder)
    set_destination(folder, store.url)


@contextlib.contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """Yields a hidden folder in a folder, and deletes it, with those of commands that were killed: nobody holds their
    locks any more."""
    for left in folder.glob(".*.tmp"):
        if not left.is_symlink() and (left / LOCK).is_file() and (lock := held_lock(left)):
            lock.close()
            discard(left)
    with tempfile.TemporaryDirectory(prefix=".", suffix=".tmp", dir=folder) as name:
        lock = held_lock(Path(name))
        try:
            yield Path(name)
        finally:
            if lock is not None:
                lock.close()


def _file(store: Store, place: Path, parts: Parts) -> None:
    """Brings one file. Each object is compared with its checksum."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place, "xb", opener=regular) as file:
        for part in parts:
            file.write(_object(store, part.key, part.size, part.sha256))
        file.flush()
        os.fsync(file.fileno())


def _object(store: Store, key: str, size: int, digest: str) -> bytes:
    """Returns an object that is what its checksum says; what was cut off on the way is read again."""

    def read() -> bytes:
        data = store.get(key, size) if size else b""  # a range of what is empty is an error in some stores
        if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
            raise StorageError("{url}/{key} does not match its checksum", url=store.url, key=key)
        return data

    return patiently(read, ATTEMPTS, time.sleep)


def _drop_empty(folder: Path, path: str) -> None:
    """Deletes the folders that are empty without a file, such as one of a checkpoint that the store has no more."""
    with contextlib.suppress(OSError):
        for name in PurePosixPath(path).parents[:-1]:
            (folder / name).rmdir()


def _mark_running(folder: Path, index: Index) -> None:
    """Holds the lock of a copy while its run is written elsewhere, as far as the clocks tell."""
    alive = not index.closed and time.time() - index.written < claim.SILENCE * index.every
    if alive and folder not in _held and folder.is_relative_to(cache()):
        with open(folder / LOCK, "ab", opener=regular):
            pass
        if lock := held_lock(folder):
            _held[folder] = lock
    elif not alive and folder in _held:
        _held.pop(folder).close()


# ---------------------------------------------------------------------------------------------- sentences


def _absent(store: Store) -> str:
    """Returns that there is no run, and what there is."""
    if below := _folders(store):
        names = ", ".join(sorted(below)[-MOST_LISTED:])
        return tr("{url} is a folder of runs; name one of them: {names}", url=store.url, names=names)
    parent, _, name = store.url.rpartition("/")
    others: list[str] = []
    with contextlib.suppress(StorageError):
        others = Store(parent).folders() if not parent.endswith(":/") and "://" in parent else []
    hint = did_you_mean(name, others) or tr("; {program} runs {url} lists what there is", program=PROGRAM, url=parent)
    return tr("there is no run {url}{hint}", url=store.url, hint=hint)
