"""A stage takes a task directory to its next pause. All that is known of a trial is read from such directories."""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.program import MAIN
from config.read.opening import read_regular
from config.read.paths import as_written
from framework.disk.atomic import remove_folder
from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import MOST_BYTES, read_csv
from framework.disk.json_lines import objects
from framework.disk.task_dir import TaskDir
from framework.errors import TaskDirError

WHERE = ("general_cfg.ray_address=", "general_cfg.mp_backend=")
"""Beginnings of settings that say where a run is trained; a run that goes on takes no others."""


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

    @property
    def errors(self) -> Path:
        """File with the stderr of its processes."""
        return self.task.with_name(f"{self.task.name}.errors.txt")

    def command(self) -> list[str]:
        """Returns the command that begins or continues the run. Deletes what a process left that was killed before its
        first checkpoint."""
        words = [sys.executable, str(MAIN)]
        for package in self.allow_import:
            words += ["--allow-import", package]
        if CheckpointStore(self.task / "models").numbers():
            words += ["resume", str(self.task.absolute()), *(word for word in self.words if word.startswith(WHERE))]
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

    def _refuse_links(self) -> None:
        """Raises TaskDirError if a link would lead what is deleted out of the folder of the trials."""
        for folder in (self.task, *self.task.parents):
            if folder.is_symlink():
                raise TaskDirError(f"{as_written(folder)} is a link; a tuning holds files and folders only")
            if folder == self.file.parent:
                return

    def _branch(self) -> Iterable[str]:
        """Returns the settings that name the checkpoint to begin from."""
        if self.source is None or self.born is None:
            return []
        pause = paused(self.source, self.born)
        facts = {"checkpoint": "true", "path": self.source.absolute(), "model_step": pause and int(pause["update"])}
        return [f"general_cfg.load_{key}={value}" for key, value in facts.items()]

    def done(self) -> bool:
        """Returns True if the run has reached its pause or its end."""
        return finished(self.task) or (self.until is not None and paused(self.task, self.until) is not None)


def finished(task: Path) -> bool:
    """Returns True if a run has ended by one of its limits."""
    return bool(TaskDir(task).read_run().get("finished"))


def seconds(task: Path) -> float:
    """Returns the seconds of training, over all processes of a run; 0 if it does not say them."""
    lasted = TaskDir(task).read_run().get("seconds")
    return lasted if isinstance(lasted, int | float) else 0.0


def paused(task: Path, step: int) -> dict[str, Any] | None:
    """Returns count and score at a pause; None if the run has not been there. A run that has ended before counts with
    its end."""
    facts = TaskDir(task).read_run()
    pauses = facts.get("pauses")
    found = pauses.get(str(step)) if isinstance(pauses, dict) else None
    if isinstance(found, dict):
        return found
    return {key: facts.get(key) for key in ("step", "update")} if facts.get("finished") else None


def score(task: Path, until: int | None, what: str, mode: str) -> float | None:
    """Returns the score of a run at a pause, or at its end (None); None if it has none there. what: evaluation, best,
    or a column of progress.csv. Later training changes nothing."""
    pause = (None if until is None else paused(task, until)) or {}
    if what in ("evaluation", "best"):
        means = _values(read_csv(task / "results" / "eval.csv")[: pause.get("evaluations")], "mean")
        if "mean" in pause:
            means.append(pause["mean"])
        if what == "best":
            return (max if mode == "max" else min)(means, default=None)
        return means[-1] if means else None
    if what in pause.get("numbers", {}):
        return float(pause["numbers"][what])
    rows = read_csv(task / "results" / "progress.csv") or reported(task)
    values = _values((row for row in rows if _before(row, pause)), what)
    return values[-1] if values else None


def reported(task: Path) -> list[dict[str, Any]]:
    """Returns what a function of the user's own has reported."""
    try:
        *lines, _torn = read_regular(task / "results" / "result.json", MOST_BYTES).decode(errors="replace").split("\n")
    except OSError:
        return []
    return list(objects(lines))


def best(task: Path, mode: str) -> float | None:
    """Returns the best score of all evaluations of a run so far, those at pauses among them."""
    pauses = TaskDir(task).read_run().get("pauses")
    found = _values(read_csv(task / "results" / "eval.csv"), "mean")
    found += _values(pauses.values() if isinstance(pauses, dict) else (), "mean")
    return (max if mode == "max" else min)(found, default=None)


def _before(row: Mapping[str, Any], pause: Mapping[str, Any]) -> bool:
    """Returns True for an iteration that has ended before a pause."""
    step = pause.get("step")
    return step is None or bool(row["step"] <= step)


def _values(rows: Iterable[Mapping[str, Any]], column: str) -> list[float]:
    """Returns the finite numbers of a column."""
    found = [row.get(column) for row in rows]
    return [float(value) for value in found if isinstance(value, int | float) and math.isfinite(value)]
