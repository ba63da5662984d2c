"""Runs stages as processes of this machine."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from config.read.opening import regular
from config.read.paths import as_written
from config.system.files import locks_are_inherited
from config.tell.language import tr
from framework.disk import task_dir
from framework.disk.task_dir import held_lock, take_lock
from framework.errors import TaskDirError
from framework.jobs.children import Begin, Child, of_command
from framework.jobs.stages import Stage
from framework.jobs.supervisor import Deaths, reached
from framework.runs import signals, supervisor_pipe


class StageEnd(NamedTuple):
    """The end of the process of a stage."""

    stage: Stage
    status: int | None
    """Exit status; None if only the end is known, as of a process of an earlier session or of a lost machine."""
    stopped: bool = False
    """True if a signal asked it to stop."""
    complaint: str = ""
    """Reason for which it failed."""
    passes: bool = False
    """True if the reason is the machine, as it is for a full disk, and the same settings need not fail again."""


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

    def poll(self) -> list[StageEnd]:
        """Returns the stages that have ended since the last call."""

    def stop(self, number: int) -> None:
        """Asks all stages, once, to save and to end, by a signal."""

    def save(self, number: int) -> None:
        """Asks all stages, by a signal, to save a checkpoint and to go on; none where that cannot be asked for."""

    def end_at_once(self, number: int) -> None:
        """Ends all stages and this process; after the second signal."""

    def end_all(self) -> None:
        """Ends the stages that are left after an error."""


class Processes:
    """A process for each stage.

    A session that is killed leaves processes behind. They go on to their next pause and end; their task directories are
    then what the next session continues from. Such a process is recognized by the lock on the file of its stderr.
    """

    def __init__(self, at_once: int, start: Path | None = None, own: bytes = b"") -> None:
        """start: working directory of the processes; None: this one's. own: registered objects that they need,
        packed."""
        self._at_once, self._start, self._own = at_once, start, own
        self._children: dict[Stage, Child] = {}
        self._orphans: list[Stage] = []
        """Stages whose task directories a process of an earlier session writes."""
        self._deaths: dict[Stage, Deaths] = {}

    @property
    def free(self) -> int:
        return self._at_once - len(self.running)

    @property
    def running(self) -> list[Stage]:
        return [*self._orphans, *self._children]

    def start(self, stage: Stage) -> None:
        child = Child(stage.errors)
        if is_locked(stage) or not child.start(self._begin(stage)):
            self._orphans.append(stage)
        else:
            self._children[stage] = child

    def _begin(self, stage: Stage) -> Begin:
        """Returns how to start the process of a stage."""
        return of_command(stage.command(), self._start, self._own)

    def poll(self) -> list[StageEnd]:
        gone = [stage for stage in self._orphans if not is_locked(stage)]
        self._orphans = [stage for stage in self._orphans if stage not in gone]
        for stage in gone:
            if stage.done():
                stage.errors.unlink(missing_ok=True)
        ends = [(stage, child) for stage, child in self._children.items() if child.ended()]
        for stage, _ in ends:
            del self._children[stage]
        return [*(StageEnd(stage, None) for stage in gone), *(self._end_of(stage, child) for stage, child in ends)]

    def _end_of(self, stage: Stage, child: Child) -> StageEnd:
        """Returns how a process has ended. With --keep-alive, one that was killed runs again."""
        end = end_of(stage, child)
        if not supervisor_pipe.connected() or end.stopped or (child.status or 0) <= 128:
            return end
        deaths = self._deaths.setdefault(stage, Deaths(-1))
        return end if deaths.another(reached(stage.task)) is None else end._replace(status=None)

    def stop(self, number: int) -> None:
        """Passes Ctrl-C on as SIGTERM: who signals all processes of a job at once, as `pkill -INT` does, has stopped
        the runs already, and a second SIGINT would end them before they have saved."""
        self._orphans.clear()
        for child in self._children.values():
            if not child.signalled:
                child.send(signal.SIGTERM if number == signal.SIGINT else number)

    def save(self, number: int) -> None:
        for child in self._children.values():
            if child.running and child.process is not None:
                child.process.send_signal(number)

    def end_at_once(self, number: int) -> None:
        for child in self._children.values():
            child.send(number)
        signals.end(number)

    def end_all(self) -> None:
        processes = [child.process for child in self._children.values() if child.running and child.process]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
        self._children.clear()


def end_of(stage: Stage, child: Child) -> StageEnd:
    """Returns how a process has ended. One that was asked to stop has not failed, whatever its status: it may not have
    been ready to be asked."""
    stopped = child.stopped or child.signalled
    if stopped or child.status == 0:
        return StageEnd(stage, child.status, stopped)
    return StageEnd(stage, child.status, complaint=child.complaint(), passes=child.passes)


def is_locked(stage: Stage) -> bool:
    """Returns True if a process of an earlier session still runs for a task directory."""
    if not locks_are_inherited():  # then it has the lock of its own alone, and that once it has come so far
        return task_dir.is_locked(stage.task)
    if not stage.errors.exists():
        return False
    with open(stage.errors, "ab", opener=regular) as errors:
        return not take_lock(errors, if_any=True)


TUNED = tr("{path} is being tuned by another process; wait for it, or stop it first")
TRAINED = tr("{path} is being trained by another process; wait for it, or stop it first")


@contextlib.contextmanager
def locked(folder: Path, sentence: str = TUNED) -> Iterator[None]:
    """Keeps a second session out of a folder. sentence: why it is kept out."""
    lock = held_lock(folder, if_any=True)
    if lock is None:
        raise TaskDirError(sentence.format(path=as_written(folder)))
    with lock:
        yield
