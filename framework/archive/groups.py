"""Groups of runs and tunings, as their folders tell: which runs they have, how far these are, and their statistics."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.read.loader import RunConfig
from config.read.opening import may_enter
from config.read.task_config import has_config
from config.read.task_files import RUN, GroupFiles
from config.tell.language import english, tr
from framework.archive import statistics
from framework.archive.curves import EVALUATION, STEPS, TRAINING, UPDATES, Curves
from framework.archive.members import of_group
from framework.archive.run import RecordedRun
from framework.disk.csv_table import read_csv
from framework.disk.facts import Circumstances
from framework.disk.task_dir import TaskDir, read_facts
from framework.screen.formatting import number
from framework.screen.stages import each


def folders_in(root: Path) -> list[Path]:
    """Returns the folders in a folder; links are left out, and hidden ones, in which a command prepares another, and
    those that may not be entered."""
    return [folder for folder in _all_in(root) if may_enter(folder)]


def closed_in(root: Path) -> list[str]:
    """Returns the names of the folders in a folder that may not be entered."""
    return sorted(folder.name for folder in _all_in(root) if not may_enter(folder))


def _all_in(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
            return [Path(entry.path) for entry in folders if not entry.name.startswith(".")]
    except OSError:
        return []


def named_runs(folder: Path) -> list[tuple[str, Path]]:
    """Returns name and folder of each run of a group or of a tuning, or of the folder itself."""
    files = GroupFiles(folder)
    if files.tuning.is_file():
        trials = [] if files.trials.is_symlink() else folders_in(files.trials)
        runs = [run for trial in trials for run in ([trial] if (trial / RUN).exists() else folders_in(trial))]
    elif files.group.is_file():
        runs = folders_in(folder)
    else:
        return [(folder.name, folder)]
    return [(f"{folder.name}/{run.relative_to(folder).as_posix()}", run) for run in runs]


def runs_in(folder: Path) -> list[Path]:
    """Returns the runs of a group or a tuning that have their settings, in the order of its table, or the run that a
    folder is."""
    runs = [run for _, run in named_runs(folder) if has_config(run)]
    order = {member.folder: place for place, member in enumerate(of_group(folder))}
    return sorted(runs, key=lambda run: (order.get(run.name, len(order)), len(run.name), run))


def begun(folder: Path) -> Circumstances:
    """Returns how a group or a tuning was begun."""
    files = GroupFiles(folder)
    return Circumstances.read({**read_facts(files.tuning), **read_facts(files.group)})


# --------------------------------------------------------------------------------------------------------- results


class RunResult(NamedTuple):
    """A row of seeds.csv or runs.csv; None for a value that is not known yet."""

    name: int | str
    """Seed, or name of the experiment."""
    mean: float | None
    """Mean return of the last evaluation, to which std, min, max and episodes belong too."""
    std: float | None
    min: float | None
    max: float | None
    episodes: int | None
    best: float | None
    """Highest mean of all evaluations, which is that of models/best."""
    step: int | None
    update: int | None
    seconds: float | None
    """Duration of the process."""
    status: int | None
    folder: str


def results_of(folder: Path, unit: str) -> list[RunResult]:
    """Returns the rows of seeds.csv (unit: seed) or of runs.csv (run), as they were written last."""
    rows: list[dict[str, Any]] = [*read_csv(GroupFiles(folder).table(unit))]
    for row in rows:
        row |= {name: number(row.get(name)) for name in RunResult._fields[1:-1]}
        row |= {"name": row.pop(unit, ""), "folder": str(row.get("folder"))}
    return [RunResult(**{name: row[name] for name in RunResult._fields}) for row in rows]


def result(task: TaskDir, name: int | str, status: int | None, seconds: float) -> RunResult:
    """Returns the results that a run has written so far."""
    run = RecordedRun(task.path)
    last = run.evaluations[-1] if run.evaluations else {}
    return RunResult(
        name=name,
        mean=last.get("mean"),
        std=last.get("std"),
        min=last.get("min"),
        max=last.get("max"),
        episodes=last.get("episodes"),
        best=max((row["mean"] for row in run.evaluations), default=None),
        step=run.facts.step,
        update=run.facts.update,
        seconds=None if status is None else round(seconds, 1),
        status=status,
        folder=task.path.name,
    )


COUNTS = {"step": english("steps"), "update": english("updates")}
"""Count of a run -> head of its column."""


def unit_of_training(results: Iterable[RunResult]) -> str:
    """Returns the count that says how long these runs have trained: step, or update if they learn from data alone."""
    known = [result for result in results if result.step is not None]
    learns = any(result.update for result in known)  # those that ended before their first step have neither
    return "update" if learns and not any(result.step for result in known) else "step"


def summary(results: Iterable[RunResult]) -> dict[str, Any]:
    """Returns mean and interquartile mean of the last evaluations of the finished runs, each with its interval."""
    scores = np.array([result.mean for result in results if result.status == 0 and result.mean is not None], float)
    if not len(scores):
        return {"finished": 0}
    facts: dict[str, Any] = {"finished": len(scores)}
    for name, statistic in (("mean", statistics.mean), ("interquartile_mean", statistics.interquartile_mean)):
        facts[name] = float(statistic(scores))
        facts[f"{name}_interval"] = statistics.interval(scores, statistic)
    return facts


def mean_fact(folder: Path, results: Sequence[RunResult], name: str) -> float | None:
    """Returns the mean of a number in run.json over the runs of a group that have it; None if none has."""
    values = [getattr(RecordedRun(folder / result.folder).facts, name) for result in results]
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


# ---------------------------------------------------------------------------------------------------------- curves


def curves_of(runs: Mapping[str, RecordedRun], evaluated: bool, least: int = 2, whole_windows: bool = False) -> Curves:
    """Returns the curves of runs, by name. evaluated: True to prefer evaluations, if all runs that have some have
    `least` of them. whole_windows: True for running means without their beginning, which is of fewer episodes."""
    scored = {name: run for name, run in runs.items() if run.evaluations}
    over = UPDATES if any(run.is_offline for run in scored.values()) else STEPS
    # a run that learns from given data has no training episodes; its evaluations may be those at its end
    if (evaluated or over == UPDATES) and scored and all(len(run.evaluations) >= least for run in scored.values()):
        lines = {name: scored[name].curve(over) for name in each(tr("reading curves"), scored, tr("runs"))}
        return Curves(lines, EVALUATION, over)
    lines = {
        name: runs[name].training_curve(over, whole_windows) for name in each(tr("reading curves"), runs, tr("runs"))
    }
    return Curves({name: line for name, line in lines.items() if len(line[0])}, TRAINING, over)


def group_curves(folder: Path, configs: Sequence[RunConfig], results: Sequence[RunResult]) -> Curves:
    """Returns the curves of the runs of a group by their folders."""
    runs = {result.folder: RecordedRun(folder / result.folder) for result in results}
    return curves_of(runs, all(config.general.online_eval for config in configs))
