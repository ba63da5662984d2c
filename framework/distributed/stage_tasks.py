"""Runs the stages of a tuning, or the runs of a group, on the machines of a Ray cluster.

An actor there gets the task directory of a run as bytes, lets a process of its machine train it, and gives the
directory back. The state of a run is in its directory alone, so that a machine that is lost costs a stage.
"""

import contextlib
import io
import shutil
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from config.config import GeneralConfig
from config.read.opening import read_regular
from config.read.yaml_reader import MAX_BYTES
from config.system.processes import unblock
from config.tell.language import tr
from framework.disk.atomic import discard, replace_folder, unfinished_folder, write_whole
from framework.distributed import ray_cluster, ray_errors, reaper
from framework.distributed.ray_cluster import CPUS_PER_LEARNER, Words
from framework.jobs.children import MOST_BYTES, POLL_SECONDS, Child, of_command
from framework.jobs.processes import StageEnd, end_of
from framework.jobs.stages import Stage
from framework.loop.backend import Lost
from framework.runs import signals

MOST_LOSSES = 3
"""Number of times that the actor of a stage is lost until its trial has failed."""
SECTIONS = {"trial": "tune_cfg", "run": "general_cfg"}
_GOES_ON = {
    "trial": tr("trial {label}: {why}; it goes on from where it was"),
    "run": tr("run {label}: {why}; it goes on from where it was"),
}
_WITHOUT = {
    "trial": tr("without {setting}, this machine trains the trials"),
    "run": tr("without {setting}, this machine trains the runs"),
}
"""Object that a stage trains -> the section with the address of the cluster."""
LEAST_BYTES = 2**20
"""Size of an object store that is not used: a cluster has its own."""


def packed(folder: Path) -> bytes:
    """Returns a folder as bytes; none if it does not exist."""
    if not folder.exists():
        return b""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.add(folder, arcname=".")
    return file.getvalue()


def unpack(data: bytes, folder: Path) -> None:
    """Makes a folder of bytes. No part of it can be written outside of it."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:  # Python 3.11.3 and earlier, which Debian 12 has
            archive.extractall(folder, [member for member in archive if _stays_in(folder.resolve(), member)])  # noqa: S202


def _stays_in(folder: Path, member: tarfile.TarInfo) -> bool:
    """Returns True for a file or a folder that is written below this one. A link could lead out of it."""
    return (member.isfile() or member.isdir()) and (folder / member.name).resolve().is_relative_to(folder)


class Result(NamedTuple):
    """The result of a stage, as it comes back from another machine."""

    end: StageEnd
    """The end of its process, with the paths of that machine."""
    task: bytes
    """The task directory."""
    errors: bytes
    """stderr of the process."""


# ------------------------------------------------------------------------------------------------- over there


class StageActor:
    """Runs the process of one stage."""

    def __init__(self) -> None:
        self._signal: int | None = None

    def begun(self) -> None:
        """Answers once there is room for it in the cluster."""

    def stop(self, number: int) -> None:
        """Asks the process, by a signal, to save and to end."""
        self._signal = number

    def run(self, stage: Stage, settings: bytes, task: bytes, source: bytes, start: Path | None = None) -> Result:
        """Trains to the next pause. task, source: the task directory, and the one whose checkpoint it begins from;
        start: folder that relative paths in the settings mean, if this machine has it, on a disk that all share."""
        folder = Path(tempfile.mkdtemp(prefix="joystick-stage-"))
        watch = reaper.Reaper(folder, detached=True)  # ends the process if this one is killed
        try:
            here = replace(
                stage,
                file=folder / stage.file.name,
                task=folder / "task",
                source=folder / "source" if stage.source else None,
            )
            write_whole(here.file, settings)
            for data, place in ((task, here.task), (source, here.source)):
                if data and place:
                    unpack(data, place)
            child = Child(here.errors)
            with ray_cluster.inherited({"JOYSTICK_RAY": str(folder)}):
                # a thread of Ray has blocked the signals that stop a run, and its child would, too
                unblock(signals.NAMES)
                child.start(of_command(here.command(), start if start and start.is_dir() else None))
            while not child.ended():
                if self._signal is not None and not child.signalled:
                    child.send(self._signal)
                time.sleep(POLL_SECONDS)
            end = end_of(here, child)
            errors = read_regular(here.errors, MOST_BYTES) if here.errors.exists() and not end.stopped else b""
            return Result(end, packed(here.task), errors)
        finally:
            watch.close()
            shutil.rmtree(folder, ignore_errors=True)


# ------------------------------------------------------------------------------------------------------- here


@dataclass
class _Entry:
    """A stage in the cluster."""

    stage: Stage
    actor: Any
    begun: Any
    """Reference to the answer that comes once it has a place."""
    result: Any
    """Reference to its result."""
    asked: bool = False
    """True if it was asked to stop."""


class StageTasks:
    """An actor for each stage."""

    def __init__(
        self,
        ray: Any,
        at_once: int,
        gpus: float,
        say: Callable[[str], None],
        noun: str = "trial",
        start: Path | None = None,
    ) -> None:
        """gpus: requested for each stage; say: prints a line; noun: of what a stage trains; start: as in
        StageActor.run."""
        self._ray, self._at_once, self._say, self._noun, self._start = ray, at_once, say, noun, start
        options = ray_cluster.options(CPUS_PER_LEARNER, gpus)
        self._new_actor = ray.remote(max_concurrency=2, **options)(StageActor).remote
        self._running: list[_Entry] = []
        self._losses: Counter[Stage] = Counter()

    @property
    def free(self) -> int:
        return self._at_once - len(self._running)

    @property
    def running(self) -> list[Stage]:
        return [entry.stage for entry in self._running]

    def start(self, stage: Stage) -> None:
        actor = self._new_actor()
        source = packed(stage.source) if stage.source else b""
        begun = actor.begun.remote()
        settings, task = read_regular(stage.file, MAX_BYTES), packed(stage.task)
        result = actor.run.remote(stage, settings, task, source, self._start)
        self._running.append(_Entry(stage, actor, begun, result))

    def poll(self) -> list[StageEnd]:
        results = [entry.result for entry in self._running]
        done, _ = self._ray.wait(results, timeout=POLL_SECONDS) if results else ([], [])
        gone = [entry for entry in self._running if entry.result in done]
        self._running = [entry for entry in self._running if entry not in gone]
        return [self._ended(entry) for entry in gone]

    def _ended(self, entry: _Entry) -> StageEnd:
        """Takes the result of a stage."""
        stage = entry.stage
        try:
            result: Result = self._ray.get(entry.result)
        except Exception as error:
            return self._failed(entry, error)
        finally:
            self._ray.kill(entry.actor)
        if result.task:
            new = unfinished_folder(stage.task)
            discard(new)
            unpack(result.task, new)
            replace_folder(new, stage.task)
        if result.errors:
            write_whole(stage.errors, result.errors)
        else:
            stage.errors.unlink(missing_ok=True)
        return result.end._replace(stage=stage)

    def _failed(self, entry: _Entry, error: Exception) -> StageEnd:
        """Returns what becomes of a stage without a result."""
        try:
            ray_errors.raised(self._ray.exceptions, error)
        except Lost:
            why = ray_errors.reason(error)
            self._losses[entry.stage] += not entry.asked
            if self._losses[entry.stage] < MOST_LOSSES:
                if not entry.asked:
                    self._say(_GOES_ON[self._noun].format(label=entry.stage.label, why=why))
                return StageEnd(entry.stage, None)
            return StageEnd(
                entry.stage,
                1,
                complaint=tr("lost {count} times in the cluster; at last {why}", count=MOST_LOSSES, why=why),
            )
        return StageEnd(entry.stage, 1, complaint=ray_errors.reason(error))

    def stop(self, number: int) -> None:
        """Asks all stages, once; those that wait for room end at once."""
        for entry in self._running:
            if entry.asked:
                continue
            entry.asked = True
            if self._ray.wait([entry.begun], timeout=0)[0]:
                entry.actor.stop.remote(number)
            else:
                self._ray.kill(entry.actor)

    def save(self, number: int) -> None:
        """Does nothing: a task directory comes back at its end."""

    def end_at_once(self, number: int) -> None:
        self.end_all()
        signals.end(number)

    def end_all(self) -> None:
        for entry in self._running:
            with contextlib.suppress(Exception):
                self._ray.kill(entry.actor)


@contextlib.contextmanager
def started(
    address: str, cfg: GeneralConfig, jobs: int | None, say: Callable[[str], None], noun: str, start: Path
) -> Iterator[StageTasks]:
    """Connects to a cluster, and leaves it on exit. cfg: of a run; jobs: stages at once, None: one for each CPU; noun:
    what a stage trains; start: working directory."""
    changes = {"ray_address": address, "n_workers": 0, "n_learners": 1}
    setting = f"{SECTIONS[noun]}.ray_address"
    words = Words(setting, _WITHOUT[noun].format(setting=setting))
    with ray_cluster.started(cfg.model_copy(update=changes), LEAST_BYTES, words) as ray:
        cpus = int(ray.cluster_resources().get("CPU", 1) // CPUS_PER_LEARNER)
        yield StageTasks(ray, jobs or max(1, cpus), cfg.gpus, say, noun, start)
