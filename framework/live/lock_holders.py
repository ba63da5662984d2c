"""Finds the process that holds a lock, and interrupts that one and no other: by /proc on Linux, elsewhere by the
programs lsof and ps, which macOS has. Windows tells of no process which files it has open.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from config.machine import PROC, stat_of
from config.system.name import user
from framework.errors import JoystickError

_WRITABLE = os.O_RDWR | os.O_WRONLY
_SECONDS = 10.0
"""Time in which lsof and ps must answer."""


class Processes(Protocol):
    """The processes of this user on this machine."""

    def holders(self, lock: Path) -> list[int]:
        """Returns the processes that have opened a file for writing, as the one that holds its lock has."""

    def parent(self, pid: int) -> int:
        """Returns the process that has started another one; 0 if it has ended."""

    def started(self, pid: int) -> str:
        """Returns the time when a process has started: a later process may get the same id, and never both. Empty if it
        has ended."""

    def interrupt(self, pid: int, is_still_it: Callable[[], bool]) -> bool:
        """Sends Ctrl-C to a process. Returns False, and sends nothing, if it is another one by now. Raises
        ProcessLookupError if it has ended."""


def processes() -> Processes:
    """Returns the processes as this system tells of them. Raises JoystickError if it does not."""
    if hasattr(signal, "pidfd_send_signal") and PROC.is_dir():
        return ByProc()
    if user() is not None and shutil.which("lsof") and shutil.which("ps"):
        return ByLsof()
    raise JoystickError("this system does not tell which process it is; press Ctrl-C in its terminal")


class ByProc:
    """The processes as Linux tells of them."""

    def holders(self, lock: Path) -> list[int]:
        return [pid for pid in self._own() if self._holds(pid, lock)]

    def parent(self, pid: int) -> int:
        words = stat_of(pid)
        return int(words[1]) if words else 0

    def started(self, pid: int) -> str:
        words = stat_of(pid)
        return words[19] if words else ""

    def interrupt(self, pid: int, is_still_it: Callable[[], bool]) -> bool:
        descriptor = os.pidfd_open(pid)  # it means this process, whichever one gets the id later
        try:
            if still := is_still_it():
                signal.pidfd_send_signal(descriptor, signal.SIGINT)
            return still
        finally:
            os.close(descriptor)

    def _own(self) -> Iterator[int]:
        for entry in os.scandir(PROC):
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                try:
                    if entry.stat().st_uid == user():
                        yield int(entry.name)
                except OSError:  # it has ended
                    continue

    def _holds(self, pid: int, lock: Path) -> bool:
        try:
            wanted, folder = os.lstat(lock), PROC / str(pid)
            if folder.stat().st_uid != user() or wanted.st_nlink != 1:
                return False
            for name in os.listdir(folder / "fd"):
                try:
                    status = os.stat(folder / "fd" / name)
                    if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino) and self._flags(
                        folder, name
                    ) & _WRITABLE:
                        return True
                except OSError:  # it was closed meanwhile
                    continue
        except OSError:
            return False
        return False

    def _flags(self, folder: Path, descriptor: str) -> int:
        """Returns the flags that a descriptor was opened with."""
        for line in (folder / "fdinfo" / descriptor).read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "flags":
                return int(value, 8)
        return 0


class ByLsof:
    """The processes as lsof and ps tell of them."""

    def holders(self, lock: Path) -> list[int]:
        if lock.is_symlink() or os.lstat(lock).st_nlink != 1:
            return []
        pid = 0
        pids: list[int] = []
        for line in _said("lsof", "-nP", "-a", "-u", str(user()), "-F", "pa", "--", str(lock)).splitlines():
            kind, value = line[:1], line[1:]
            if kind == "p":
                pid = int(value)
            elif kind == "a" and value in ("w", "u") and pid not in (os.getpid(), *pids):
                pids.append(pid)
        return pids

    def parent(self, pid: int) -> int:
        return int(_said("ps", "-o", "ppid=", "-p", str(pid)) or 0)

    def started(self, pid: int) -> str:
        return _said("ps", "-o", "lstart=", "-p", str(pid))

    def interrupt(self, pid: int, is_still_it: Callable[[], bool]) -> bool:
        if still := is_still_it():
            os.kill(pid, signal.SIGINT)
        return still


def _said(*command: str) -> str:
    """Returns what a program of the system prints; nothing if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip()
