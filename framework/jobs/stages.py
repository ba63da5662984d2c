"""A stage takes a task directory to its next pause."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from config.program import MAIN
from config.read.paths import as_written
from config.read.task_files import TaskFiles
from framework.archive.run import RecordedRun
from framework.disk.atomic import remove_folder
from framework.disk.checkpoints import CheckpointStore
from framework.errors import TaskDirError
from framework.jobs.members import DATA
from framework.screen.formatting import number

WHERE = ("general_cfg.ray_address=", "general_cfg.mp_backend=", DATA)
"""Beginnings of settings that say where a run is trained and its data are; a run that goes on takes no others."""


@dataclass(frozen=True)
class Stage:
    """One run of a trial or of a group, to a step."""

    trial: str
    """Name of the trial, or of the run in its group."""
    label: str
    """Name in lines of output."""
    file: Path
    """Settings of the trial."""
    task: Path
    until: int | None = None
    """Environment step at which it pauses; None: the end of the run."""
    words: tuple[str, ...] = ()
    """Settings that its commands add to those in the file."""
    source: Path | None = None
    """Task directory with the checkpoint that it begins from."""
    born: int | None = None
    """Environment step at which that one has paused."""
    allow_import: tuple[str, ...] = ()
    evaluated: bool = True
    """False if the score is a column of progress.csv, and no setting asks for evaluations."""
    limits: tuple[tuple[str, float], ...] = ()
    """Names and values of the limits of the group, which may have been raised since the run ended."""

    @property
    def errors(self) -> Path:
        """File with the stderr of its processes."""
        return TaskFiles(self.task).errors

    def command(self) -> list[str]:
        """Returns the command that begins or continues the run. Deletes what a process left that was killed before its
        first checkpoint."""
        words = [sys.executable, str(MAIN)]
        for package in self.allow_import:
            words += ["--allow-import", package]
        if CheckpointStore(self.task / "models").numbers():
            words += ["resume", str(self.task.absolute()), *(word for word in self.words if word.startswith(WHERE))]
            words += self._raised(RecordedRun(self.task))
        else:
            self._refuse_links()
            remove_folder(self.task)
            words += [
                "--yaml",
                str(as_written(self.file)),
                "--into",
                str(as_written(self.task)),
                *self.words,
                *self._branch(),
            ]
        words += [] if self.evaluated else ["--no-evaluation"]
        return words if self.until is None else [*words, "--pause-at-step", str(self.until)]

    def _raised(self, run: RecordedRun) -> list[str]:
        """Returns the settings that raise the limits of the run to those of its group."""
        present = {name: number(run.general.get(name)) or 0 for name, _ in self.limits}
        return [
            f"general_cfg.{name}={limit}"
            for name, limit in self.limits
            if present[name] > 0 and not 0 < limit <= present[name]
        ]

    def _refuse_links(self) -> None:
        """Raises TaskDirError if a link would lead what is deleted out of the folder of the trials."""
        for folder in (self.task, *self.task.parents):
            if folder.is_symlink():
                raise TaskDirError("{path} is a link; a tuning holds files and folders only", path=as_written(folder))
            if folder == self.file.parent:
                return

    def _branch(self) -> Iterable[str]:
        """Returns the settings that name the checkpoint to begin from."""
        if self.source is None or self.born is None:
            return []
        pause = RecordedRun(self.source).paused(self.born)
        facts = {"checkpoint": True, "path": str(self.source.absolute()), "model_step": pause and int(pause["update"])}
        # in quotes: " #" and ": " in a path are signs of YAML
        return [f"general_cfg.load_{key}={json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]

    @property
    def seconds(self) -> float:
        """Seconds of training, over all of its processes; 0 if they are not known."""
        return RecordedRun(self.task).facts.seconds or 0.0

    def done(self) -> bool:
        """Returns True if the run has reached its pause or its end."""
        run = RecordedRun(self.task)
        if run.facts.finished:
            return not self._raised(run)
        return self.until is not None and run.paused(self.until) is not None
