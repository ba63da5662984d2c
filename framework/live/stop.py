"""Stops a run, a group or a tuning as Ctrl-C in its terminal does: it saves, and can be resumed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from config.machine import PROC
from config.read.task_files import GROUP, LOCK, TUNING
from config.tell.language import tr
from framework.disk.task_dir import is_locked
from framework.errors import JoystickError

_WRITABLE = os.O_RDWR | os.O_WRONLY
_MOST_LOCKS = 1000
"""Number of files of a group that are looked at."""
Holder = tuple[int, int]
"""Id of a process, and the time of its start: a later process may get the same id, and never both."""


def lock_of(folder: Path) -> Path | None:
    """Returns the locked file of a run, or of the process that drives a group or a tuning; None if none is locked. A
    group locks the settings of its first run."""
    names = [LOCK]
    if (folder / GROUP).is_file() and not (folder / TUNING).is_file():
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".yaml"))[:_MOST_LOCKS]
    return next((folder / name for name in names if is_locked(folder, name)), None)


class Stops:
    """Stops runs, each once: a second signal would end them without saving."""

    def __init__(self) -> None:
        self._asked: set[Holder] = set()

    def stop(self, folder: Path) -> str:
        """Asks the process of a run, a group or a tuning to save and end. Returns what has happened. Raises
        JoystickError if there is no such process of this user on this machine."""
        try:
            return self._stop(folder)
        except ProcessLookupError as error:  # between two looks at it
            raise JoystickError(tr("it has just ended")) from error

    def _stop(self, folder: Path) -> str:
        if not hasattr(signal, "pidfd_send_signal") or not PROC.is_dir():
            raise JoystickError(tr("this system does not tell which process it is; press Ctrl-C in its terminal"))
        lock = lock_of(folder)
        if lock is None:
            raise JoystickError(tr("it does not run any more"))
        pid = _holder(lock)
        descriptor = os.pidfd_open(pid)  # it means this process, whichever one gets the id later
        try:
            if not _holds(pid, lock):
                raise JoystickError(tr("it has just ended"))
            holder = pid, _started(pid)
            if holder in self._asked:
                raise JoystickError(
                    tr(
                        "process {pid} was asked before, and saves; to end it at once, press Ctrl-C in its terminal",
                        pid=pid,
                    )
                )
            signal.pidfd_send_signal(descriptor, signal.SIGINT)
            self._asked.add(holder)
        finally:
            os.close(descriptor)
        return tr("process {pid} was asked to stop, as by Ctrl-C: it saves, and can be resumed", pid=pid)


def _holder(lock: Path) -> int:
    """Returns the process that holds a lock. Raises JoystickError if it is not one process of this user here."""
    holders = [pid for pid in _own_processes() if _holds(pid, lock)]
    tops = [pid for pid in holders if _parent(pid) not in holders]  # a program may have inherited the file
    if len(tops) != 1:
        raise JoystickError(
            tr(
                "no process of yours on this machine holds its lock; it runs on another machine, in a container, or as "
                "another user: stop it there"
            )
        )
    return tops[0]


def _own_processes() -> Iterator[int]:
    user = os.getuid()
    for entry in os.scandir(PROC):
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if entry.stat().st_uid == user:
                    yield int(entry.name)
            except OSError:  # it has ended
                continue


def _holds(pid: int, lock: Path) -> bool:
    """Returns True if a process of this user has opened a locked file for writing, as the one that holds the lock
    has."""
    try:
        wanted, folder = os.lstat(lock), PROC / str(pid)
        if folder.stat().st_uid != os.getuid() or wanted.st_nlink != 1:
            return False
        for name in os.listdir(folder / "fd"):
            try:
                status = os.stat(folder / "fd" / name)
                if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino) and _flags(
                    folder, name
                ) & _WRITABLE:
                    return True
            except OSError:  # it was closed meanwhile
                continue
    except OSError:
        return False
    return False


def _flags(folder: Path, descriptor: str) -> int:
    """Returns the flags that a descriptor was opened with."""
    for line in (folder / "fdinfo" / descriptor).read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "flags":
            return int(value, 8)
    return 0


def _words(pid: int) -> list[str]:
    """Returns what /proc/PID/stat has behind the name."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _parent(pid: int) -> int:
    words = _words(pid)
    return int(words[1]) if words else 0


def _started(pid: int) -> int:
    words = _words(pid)
    return int(words[19]) if words else 0
