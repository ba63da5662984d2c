"""Files and names that are on the disk when the call returns, and replacements that can be mended."""

import os
import shutil
from pathlib import Path


def write_durably(path: Path, data: bytes) -> None:
    """The bytes are on the disk when this returns."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, data: bytes) -> None:
    """Replaces the content of a file durably. After a crash or an OSError the file holds the old or the new bytes."""
    new = path.with_name(path.name + ".tmp")
    write_durably(new, data)
    os.replace(new, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """The names in this folder are on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_folder(new: Path, old: Path) -> None:
    """Give `new` the name `old`. A failure leaves `old` as it was; a crash in between is mended by `recover`."""
    aside = _aside(old)
    shutil.rmtree(aside, ignore_errors=True)
    if old.exists():
        os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        if aside.exists():
            os.rename(aside, old)
        raise
    sync_folder(old.parent)
    shutil.rmtree(aside, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Gone under its name at once, so that a crash leaves no half of it to be taken for a whole."""
    if path.exists():
        doomed = path.with_name(path.name + ".tmp")
        shutil.rmtree(doomed, ignore_errors=True)
        os.rename(path, doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def recover(folder: Path) -> None:
    """Tidy up after a crash: unfinished folders go, an interrupted replacement is undone or completed."""
    for aside in folder.glob("*.old"):
        name = aside.with_suffix("")
        if name.exists():
            shutil.rmtree(aside)
        else:
            os.rename(aside, name)
    for unfinished in folder.glob("*.tmp"):
        shutil.rmtree(unfinished)


def _aside(path: Path) -> Path:
    return path.with_name(path.name + ".old")
