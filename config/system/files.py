"""Links, locks, and changes of names."""

import errno
import os
import stat
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from config.system.name import is_windows, user

PATIENCE = 2.0
"""Seconds for which a file that another program has open is tried again, on Windows."""
_PAUSE = 0.02
_LOCKED_BYTE = 2**31 - 2
"""Place of the byte that is locked on Windows, where nobody else can read what is locked: behind the end of all files
that are locked here."""
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}
"""Errors of a file system without locks, such as Lustre that is mounted without `flock`, or NFS without its daemon."""
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
"""Names that no file of Windows can have, whatever its ending."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Flag that keeps an open from following a link; 0 where there is none, see `is_link`."""
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""Flag that keeps an open from waiting for the other end of a pipe; files are no pipes where there is none."""


def is_link(path: str | Path) -> bool:
    """Returns True for a link, and for a junction of Windows, which leads elsewhere as well."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 0xA0000003)


def patiently(change: Callable[..., None], *paths: Path) -> None:
    """Renames, replaces or deletes. On Windows that fails while any program has the file open, such as one that shows
    the run, or that looks for viruses; so it is tried again for a while."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return change(*paths)
        except PermissionError:
            if not is_windows() or time.monotonic() >= until:
                raise
            time.sleep(_PAUSE)


def lock(file: IO[Any], shared: bool = False) -> bool:
    """Locks an open file until it is closed; on Linux and macOS, until the last process that has inherited it closes
    it. Returns False if another process holds a lock on it. shared: others may hold such a lock, too; Windows has none.
    Raises OSError if the file system has no locks. Where Python has neither way, nothing is locked."""
    if (fcntl := _module("fcntl")) is not None:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    if (msvcrt := _module("msvcrt")) is None:
        return True
    place = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    try:
        os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(file.fileno(), place, os.SEEK_SET)  # a child that inherits the file writes there
    return True


def locks_are_inherited() -> bool:
    """Returns True if a process that has inherited a locked file keeps it locked."""
    return not is_windows()


def _module(name: str) -> Any:
    """Returns a module of Python's own library; None on a system that lacks it."""
    try:
        return import_module(name)
    except ImportError:
        return None


def is_private(status: os.stat_result, forbidden: int) -> bool:
    """Returns True if a file belongs to the user, and nobody else has one of these permissions; True where files have
    no such owner, as in the folders of a user on Windows."""
    return user() is None or (status.st_uid == user() and not status.st_mode & forbidden)
