"""Runs stages as processes of this machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from config.read.opening import regular
from framework.disk.task_dir import take_lock
from framework.jobs.children import Child, Children, of_command
from framework.jobs.stages import Stage


class Ended(NamedTuple):
    """The end of the process of a stage."""

    stage: Stage
    status: int | None
    """Exit status; None if only the end is known, as of a process of an earlier session or of a lost machine."""
    stopped: bool = False
    """True if a signal asked it to stop."""
    complaint: str = ""
    """Why it failed."""


class Runner(Protocol):
    """Runs stages somewhere. The state of a stage is in its task directory, not here."""

    @property
    def free(self) -> int:
        """Number of further stages that may start."""

    @property
    def running(self) -> list[Stage]:
        """Stages that run."""

    def start(self, stage: Stage) -> None:
        """Starts a stage."""

    def poll(self) -> list[Ended]:
        """Returns the stages that have ended since the last call."""

    def stop(self, number: int) -> None:
        """Asks all stages, once, to save and to end, by a signal."""

    def end_at_once(self, number: int) -> None:
        """Ends all stages and this process; after the second signal."""

    def end_all(self) -> None:
        """Ends the stages that are left after an error."""


class Processes:
    """A process for each stage.

    A tuner that is killed leaves processes behind. They go on to their next pause and end; their task directories are
    then what the next session continues from. Such a process is recognized by the lock on the file of its stderr.
    """

    def __init__(self, at_once: int, start: Path | None = None) -> None:
        """start: working directory of the processes; None: this one's."""
        self._children, self._start = Children(at_once), start
        self._known: dict[int, tuple[Stage, Child]] = {}
        self._orphans: list[Stage] = []
        """Stages whose task directories a process of an earlier session writes."""

    @property
    def free(self) -> int:
        return self._children.free - len(self._orphans)

    @property
    def running(self) -> list[Stage]:
        return [*self._orphans, *(stage for stage, _ in self._known.values())]

    def start(self, stage: Stage) -> None:
        if is_locked(stage):
            self._orphans.append(stage)
            return
        child = Child(stage.errors)
        if self._children.start(child, of_command(stage.command(), self._start)):
            self._known[id(child)] = (stage, child)

    def poll(self) -> list[Ended]:
        gone, self._orphans = ended_orphans(self._orphans)
        ended = [Ended(stage, None) for stage in gone]
        for child in self._children.poll():
            stage, _ = self._known.pop(id(child))
            ended.append(end_of(stage, child))
        return ended

    def stop(self, number: int) -> None:
        self._orphans.clear()
        self._children.stop(number)

    def end_at_once(self, number: int) -> None:
        self._children.end_at_once(number)

    def end_all(self) -> None:
        self._children.end_all()


def end_of(stage: Stage, child: Child) -> Ended:
    """Returns how a process has ended. One that was asked to stop has not failed, whatever its status: it may not have
    been ready to be asked."""
    stopped = child.stopped or child.signalled
    return Ended(stage, child.status, stopped, "" if stopped or child.status == 0 else child.complaint())


def ended_orphans(orphans: Sequence[Stage]) -> tuple[list[Stage], list[Stage]]:
    """Returns the stages whose process of an earlier session has ended, and the others. Removes the stderr of those
    that are done."""
    running = [stage for stage in orphans if is_locked(stage)]
    gone = [stage for stage in orphans if stage not in running]
    for stage in gone:
        if stage.done():
            stage.errors.unlink(missing_ok=True)
    return gone, running


def is_locked(stage: Stage) -> bool:
    """Returns True if a process of an earlier session still runs for a task directory."""
    if not stage.errors.exists():
        return False
    with open(stage.errors, "ab", opener=regular) as errors:
        return not take_lock(errors)
