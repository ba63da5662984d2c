"""Trials that are calls of a function of the user's own, each in a process of its own."""

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import yaml
from yaml.representer import RepresenterError

from config.read import search_space
from config.read.loader import ConfigError
from config.read.opening import regular
from config.read.paths import as_written
from config.read.tuning import Tuning
from config.read.yaml_reader import Dumper, read
from config.tell.language import tr
from framework.disk.atomic import ensure_folder, sync_folder
from framework.disk.task_dir import PAUSED, TaskDir
from framework.errors import JoystickError
from framework.jobs.children import Begin, Child
from framework.jobs.processes import Processes, StageEnd
from framework.jobs.search import Settings
from framework.jobs.stages import Stage
from framework.jobs.tuning_plan import SCORES, Ready, TuningPlan
from framework.runs import signals

Function = Callable[[dict[str, Any], "Report"], Any]
ENDS = 2.0
"""Seconds that a process may take to end after it was told to."""


class FunctionPlan(TuningPlan):
    """Trials are calls of a function with their settings."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        super().__init__(tuning.domains, tuning.settings)

    def check(self) -> None:
        """Refuses what functions cannot do."""
        cfg, problems = self.cfg, []
        if cfg.scheduler == "pbt" or cfg.seeds > 1:
            problems.append(tr("Python: a function is tried with scheduler none or halving, and with one seed"))
        if cfg.ray_address:
            problems.append(tr("Python: ray_address: a function is tried on this machine; leave it out, or use a file"))
        if cfg.halves and cfg.rungs is None:
            problems.append(
                tr("Python: rungs: halving needs the number of steps between two comparisons of a function")
            )
        if cfg.score in SCORES:
            problems.append(tr("Python: score: write the name of a number that the function reports"))
        try:
            self.tuning.to_yaml(Path())
        except RepresenterError as error:
            problems.append(
                tr(
                    "Python: space: got {value!r}, which no file can hold; write a name or a number",
                    value=error.args[-1],
                )
            )
        if problems:
            raise ConfigError(*problems)

    def resume_command(self, folder: Path) -> str:
        return f"joystick.tune(function, resume={str(as_written(folder))!r})"

    def ready(self, settings: Settings) -> Ready:
        value = search_space.filled(self.tuning.document.value, self.domains, settings)
        return Ready(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True), self.cfg.seed)

    def explore(self, settings: Settings, random: np.random.Generator) -> Settings:
        return settings


class Report:
    """Takes the numbers of a trial. At a comparison it waits until that is over."""

    def __init__(self, task: Path, until: int | None, pipe: Connection) -> None:
        self._task, self._until, self._pipe = TaskDir(task), until, pipe
        self.ended = False
        """True once the trial was told to end."""
        self._step: int | None = None
        self._numbers: dict[str, float] = {}
        """Newest number of each name."""
        ensure_folder(self._task.results)
        self._began = time.monotonic()
        self._file = open(self._task.result, "w", encoding="utf-8", newline="\n", opener=regular)  # noqa: SIM115

    def __call__(self, *, step: int, **numbers: float) -> bool:
        """Adds a line to results/result.json. Returns False if the trial should end."""
        self._step, new = int(step), {name: float(value) for name, value in numbers.items()}
        self._numbers |= new
        self._file.write(json.dumps({"step": self._step, **new}) + "\n")
        self._file.flush()
        if self._until is not None and step >= self._until and not self.ended:
            self._pause()
        return not self.ended

    def _pause(self) -> None:
        """Notes that the step of a comparison is reached, and waits for the next one."""
        pauses = self._task.facts().pauses or {}
        pause = {"step": self._step, "numbers": self._numbers}
        self.tell({"outcome": f"{PAUSED} {self._step}", "pauses": {**pauses, str(self._until): pause}})
        try:
            self._pipe.send(None)
            self.ended, self._until = self._pipe.recv()
        except (EOFError, OSError):  # the tuner was killed
            self.ended = True

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Writes run.json, after the numbers that a score is read from are on the disk."""
        os.fsync(self._file.fileno())
        sync_folder(self._task.results)
        self._task.write_run({**facts, "step": self._step, "seconds": round(time.monotonic() - self._began, 3)})


class Forked:
    """A call in a forked process; the methods are the same as subprocess.Popen's."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._process = multiprocessing.get_context("fork").Process(target=work)
        self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, sig: int) -> None:
        if self._process.pid and self.poll() is None:
            os.kill(self._process.pid, sig)

    def terminate(self) -> None:
        self._process.join(ENDS)
        self._process.terminate()


class Functions(Processes):
    """Runs the stages of calls. A call that has reached its pause waits, and takes no place."""

    def __init__(self, function: Function, at_once: int) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise JoystickError("a function can be tried only where processes can be forked; use a file instead")
        super().__init__(at_once)
        self.function = function
        self._pipes: dict[str, Connection] = {}
        """Pipes to the calls that run or wait, by trial."""
        self._waiting: dict[str, tuple[Stage, Child]] = {}
        """Calls that wait, by trial."""

    def start(self, stage: Stage) -> None:
        if stage.trial not in self._waiting:
            super().start(stage)
            return
        _, self._children[stage] = self._waiting.pop(stage.trial)
        with contextlib.suppress(OSError):  # it was killed meanwhile: poll() sees its end
            self._pipes[stage.trial].send((False, stage.until))

    def _begin(self, stage: Stage) -> Begin:
        here, there = multiprocessing.Pipe()
        ours = [here, *self._pipes.values()]
        self._pipes[stage.trial] = here

        def call(errors: BinaryIO, _pipe: int) -> Forked:
            process = Forked(lambda: _call(self.function, stage, there, errors, ours))
            there.close()
            return process

        return call

    def poll(self) -> list[StageEnd]:
        ends = super().poll()
        for end in ends:
            self._pipes.pop(end.stage.trial, None)
        for stage in list(self._children):
            if _has_paused(self._pipes[stage.trial]):
                self._waiting[stage.trial] = (stage, self._children.pop(stage))
                ends.append(StageEnd(stage, 0))
        return ends

    def save(self, number: int) -> None:
        """Does nothing: a function of the user's own saves when it likes."""

    def end_at_once(self, number: int) -> None:
        self._children |= dict(self._waiting.values())
        super().end_at_once(number)

    def end_all(self) -> None:
        for trial, (stage, _) in self._waiting.items():
            with contextlib.suppress(OSError):
                self._pipes[trial].send((True, stage.until))
        self._children |= dict(self._waiting.values())
        stages = list(self._children)
        super().end_all()
        for stage in stages:
            stage.errors.unlink(missing_ok=True)


def _has_paused(pipe: Connection) -> bool:
    """Returns True once for each pause of a call. The pipe of a process that has just ended is at its end."""
    try:
        return pipe.poll() and pipe.recv() is None
    except (EOFError, OSError):
        return False


def _call(function: Function, stage: Stage, pipe: Connection, errors: BinaryIO, ours: Sequence[Connection]) -> None:
    """Calls the function in its process. ours: the tuner's ends of pipes; a copy that stays open would keep a call from
    noticing that the tuner is gone."""
    for end in ours:
        end.close()
    os.setpgid(0, 0)
    os.dup2(errors.fileno(), 2)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115  # an exception of the function goes there
    for number in signals.NAMES:
        signal.signal(number, signal.SIG_DFL)
    report = Report(stage.task, stage.until, pipe)
    function(read(stage.file).value, report)
    if not report.ended:
        report.tell({"outcome": "the function has returned", "finished": True})
