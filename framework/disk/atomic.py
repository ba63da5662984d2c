"""Writes files and folders so that a crash leaves the old or the new one."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from config.read.opening import regular
from config.system.files import patiently
from config.system.name import is_windows

_BLOCK = 2**20


# ------------------------------------------------------------------------------------------------------ errors


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds the path to an OSError without one: a failed write or fsync does not know the name of its file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


# -------------------------------------------------------------------------------------------------------- files


def write_whole(path: Path, data: bytes) -> None:
    """Replaces the content of a file durably. After a crash or an OSError the file holds the old or the new bytes."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Replaces the content of files of one folder durably: none gets its name before the content of all is on the
    disk."""
    try:
        for path, data in files.items():
            write_durably(unfinished(path), data)
        for path in files:
            patiently(os.replace, unfinished(path), path)
    except BaseException:
        for path in files:
            with contextlib.suppress(OSError):
                unfinished(path).unlink(missing_ok=True)
        raise
    sync_folder(next(iter(files)).parent)


def unfinished(path: Path) -> Path:
    """Returns the name of a file while it is being written."""
    return path.with_name(path.name + ".tmp")


def finish(file: BinaryIO, path: Path) -> None:
    """Closes a file that was written as `unfinished(path)` and gives it its name, durably."""
    with naming(path), file:
        file.flush()
        os.fsync(file.fileno())
    patiently(os.replace, unfinished(path), path)
    sync_folder(path.parent)


def write_durably(path: Path, data: bytes) -> None:
    """Writes a file. Its content is on the disk when this returns."""
    with naming(path), open(path, "wb", opener=regular) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Makes the content of a file durable, whoever has written it."""
    with naming(path), open(path, "r+b", opener=regular) as file:
        os.fsync(file.fileno())


def copy_durably(path: Path, target: Path) -> None:
    """Copies a file. The content of the copy is on the disk when this returns."""
    with naming(target), open(path, "rb", opener=regular) as source, open(target, "wb", opener=regular) as copy:
        shutil.copyfileobj(source, copy, _BLOCK)
        copy.flush()
        os.fsync(copy.fileno())


# ------------------------------------------------------------------------------------------------------ folders


def make_folder(path: Path) -> None:
    """Creates a folder and its missing parents, durably. Raises FileExistsError if the folder exists."""
    if not path.parent.exists():
        with contextlib.suppress(FileExistsError):
            make_folder(path.parent)
    path.mkdir()
    sync_folder(path.parent)


def ensure_folder(path: Path) -> None:
    """Creates a folder and its missing parents, durably, unless it exists."""
    if not path.is_dir():
        try:
            make_folder(path)
        except FileExistsError:
            if not path.is_dir():  # another process may have made it meanwhile
                raise


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable. Windows has no way to: there a power failure may bring back former names."""
    if is_windows():
        return
    with naming(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_folder(new: Path, old: Path) -> None:
    """Renames `new` to `old`. After an OSError `old` is as it was; a crash in between is repaired by `recover`."""
    former = aside(old)
    if old.exists():
        discard(former)
        patiently(os.rename, old, former)
    try:
        patiently(os.rename, new, old)
    except OSError:
        if former.exists():
            patiently(os.rename, former, old)
        raise
    sync_folder(old.parent)
    discard(former)


def finish_folder(new: Path, path: Path) -> None:
    """Gives a folder, with whatever is below, its name, durably."""
    for folder, _, names in os.walk(new):
        for name in names:
            sync_file(Path(folder, name))
        sync_folder(Path(folder))
    patiently(os.rename, new, path)
    sync_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Deletes a folder. It loses its name first, so that a crash leaves no half of it to be taken for a whole."""
    discard(aside(path))
    if path.exists():
        doomed = unfinished_folder(path)
        discard(doomed)
        patiently(os.rename, path, doomed)
        sync_folder(path.parent)
        discard(doomed)


def recover(folder: Path) -> None:
    """Cleans up after a crash: deletes unfinished folders, and undoes or completes an interrupted replacement. Leaves
    files alone, and names that do not begin with a dot, which are not ours."""
    for former in filter(Path.is_dir, folder.glob(".*.old")):
        path = replaced(former)
        if path.exists():
            shutil.rmtree(former)
        else:
            patiently(os.rename, former, path)
    for partial in filter(Path.is_dir, folder.glob(".*.tmp")):
        shutil.rmtree(partial)


def discard(path: Path) -> None:
    """Deletes a folder, or a file in its place; leaves what cannot be deleted."""
    shutil.rmtree(path, ignore_errors=True)
    if path.is_file():
        with contextlib.suppress(OSError):
            path.unlink()


def unfinished_folder(path: Path) -> Path:
    """Returns the name of a folder while it is being written or deleted. It begins with a dot, so that it is no name
    that somebody gave to a folder beside it."""
    return path.with_name(f".{path.name}.tmp")


def aside(path: Path) -> Path:
    """Returns the name of a folder while another one takes its place: hidden, too, since many call a run that they put
    aside NAME.old."""
    return path.with_name(f".{path.name}.old")


def replaced(former: Path) -> Path:
    """Returns the folder whose place another one takes, from its name meanwhile; any other path as it is."""
    name = former.stem[1:]
    is_former = former.name.startswith(".") and former.suffix == ".old" and name.strip(".") != ""
    return former.with_name(name) if is_former else former
