"""Opens files without following links and without waiting, and looks through folders before anything in them is read.

A folder of runs may come from a stranger: nothing in it may lead to a file outside of it, or hang a command. Settings
are read from such folders, too; so this lies in config, which imports no other package of ours.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from config.read.paths import as_written
from config.system.files import NO_LINK, NO_WAIT, is_link
from config.system.name import is_windows
from config.tell.language import tr

Opener = Callable[[str, int], int]
"""Type of the argument `opener` of `open`: path and flags -> descriptor."""
_FROM_THE_SHELL = ("/dev/stdin", "/dev/fd/")
"""Beginnings of names of what a shell has opened for this process: its standard input, and <(...)."""


def regular(path: str, flags: int) -> int:
    """Opens a regular file, as `opener` of `open`. Raises OSError for a link, a pipe or a device."""
    try:
        if not NO_LINK and is_link(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        descriptor = _opened(path, flags | NO_LINK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(
                errno.ELOOP, tr("is a link, which is not followed inside a task directory"), str(path)
            ) from None
        raise
    return _checked(descriptor, path)


def named(path: str, flags: int) -> int:
    """Opens a file that the user has named, as `opener` of `open`. Links are followed. Raises OSError for a pipe or a
    device; only one that the shell has opened for this process is waited for."""
    if str(path).startswith(_FROM_THE_SHELL):
        return os.open(path, flags)
    return _checked(_opened(path, flags), path)


def _opened(path: str, flags: int) -> int:
    """Returns the descriptor of a file, without waiting."""
    try:
        return os.open(path, flags | NO_WAIT, 0o666)
    except PermissionError:
        if os.path.isdir(path):  # Windows opens no folder
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path)) from None
        raise


def _checked(descriptor: int, path: str) -> int:
    """Returns the descriptor of a regular file; closes any other one."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, tr("is not a regular file"), str(path))


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Returns the content of a regular file, or raises OSError. The size is compared before anything is allocated."""
    with open(path, "rb", opener=regular) as file:
        return file.read(_size(file, most_bytes))


def unreadable(path: Path, most_bytes: int) -> str:
    """Returns why read_regular would not read a file; empty if it would, or if the file does not exist."""
    try:
        with open(path, "rb", opener=regular) as file:
            _size(file, most_bytes)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _size(file: IO[bytes], most_bytes: int) -> int:
    """Returns the size of a file, or raises OSError if it is too large."""
    size = os.fstat(file.fileno()).st_size
    if size > most_bytes:
        message = tr("is larger than {size:,.0f} MiB", size=most_bytes / 2**20)
        raise OSError(errno.EFBIG, message, str(file.name))
    return size


def may_enter(folder: str | Path) -> bool:
    """Returns False for a folder whose files may not be asked for, such as one of another user: each question whether
    there is a file in it would raise."""
    try:
        os.stat(os.path.join(folder, os.curdir))
    except OSError:
        return False
    return True


def entries_below(folder: Path, strict: bool = True) -> Iterator[os.DirEntry[str]]:
    """Yields everything below a folder except folders; follows no links. A folder that is gone, as a running
    training deletes its own, is skipped. strict: False skips what cannot be read, too."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and not (is_windows() and is_link(entry.path)):
                        waiting.append(entry.path)
                    else:
                        yield entry
        except FileNotFoundError:
            continue
        except OSError:
            if strict:
                raise


def fault_below(folder: Path, subject: str = tr("a task directory")) -> str:
    """Returns which part of a folder is neither a file nor a folder, in a sentence; empty if there is none. A folder
    from a stranger may hold links that lead out of it, pipes on which a read waits forever, and devices. subject: name
    of such folders."""
    try:
        for entry in entries_below(folder):
            if not entry.is_file(follow_symlinks=False):
                path = as_written(Path(entry.path))
                if is_link(entry.path):
                    return tr("{path} is a link; {subject} holds files and folders only", path=path, subject=subject)
                return tr(
                    "{path} is a pipe or a device; {subject} holds files and folders only", path=path, subject=subject
                )
    except OSError as error:
        return tr("cannot read {path}: {reason}", path=as_written(Path(error.filename)), reason=error.strerror)
    return ""
