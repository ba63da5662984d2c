"""Stops a run, a group or a tuning as Ctrl-C in its terminal does: it saves, and can be resumed."""

from pathlib import Path

from config.read.task_files import LOCK
from config.tell.language import tr
from framework.disk.task_dir import is_locked
from framework.errors import JoystickError
from framework.live.lock_holders import Processes, processes

Holder = tuple[int, str]
"""Id of a process, and the time of its start: a later process may get the same id, and never both."""


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
            raise JoystickError("it has just ended") from error

    def _stop(self, folder: Path) -> str:
        system = processes()
        if not is_locked(folder):
            raise JoystickError("it does not run any more")
        lock = folder / LOCK
        pid = _holder(system, lock)
        holder = pid, system.started(pid)
        if holder in self._asked:
            raise JoystickError(
                "process {pid} was asked before, and saves; to end it at once, press Ctrl-C in its terminal", pid=pid
            )
        if not system.interrupt(pid, lambda: pid in system.holders(lock) and system.started(pid) == holder[1]):
            raise JoystickError("it has just ended")
        self._asked.add(holder)
        return tr("process {pid} was asked to stop, as by Ctrl-C: it saves, and can be resumed", pid=pid)


def _holder(system: Processes, lock: Path) -> int:
    """Returns the process that holds a lock. Raises JoystickError if it is not one process of this user here."""
    holders = system.holders(lock)
    tops = [pid for pid in holders if system.parent(pid) not in holders]  # a program may have inherited the file
    if not is_locked(lock.parent):
        raise JoystickError("it has just ended")
    if len(tops) != 1:
        raise JoystickError(
            "no process of yours on this machine holds its lock; it runs on another machine, in a container, or as "
            "another user: stop it there"
        )
    return tops[0]
