"""What a tuning leaves: trials.csv, best.yaml, learning_curves.png, and a printed table."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.read.loader import RunConfig
from config.tell.names import printable
from framework.archive import statistics
from framework.disk.atomic import write_whole
from framework.disk.csv_table import last_row
from framework.disk.task_dir import TaskDir
from framework.jobs import runs_table, stages
from framework.jobs.plan import Ready
from framework.jobs.schedulers import Trial
from framework.pages import figures
from framework.screen.formatting import clock, short

MOST_ROWS = 20
"""Trials that the printed table has, best first; trials.csv has all."""


class Row(NamedTuple):
    """A trial, as far as it has come; None for what is not known."""

    trial: Trial
    state: str
    """waiting, running, interrupted, paused, finished, failed, or replaced by a copy of another trial."""
    score: float | None
    """Score at the last rung that it has reached."""
    best: float | None
    """Best score of all its evaluations."""
    step: int | None
    seconds: float | None
    """Seconds of training, over all of its runs."""
    status: int | None
    """Exit status of its last process."""
    folder: Path
    last_return: float | None = None
    """Return of the newest episode of its training; with several seeds the mean of theirs."""


def combined(values: Sequence[float | None]) -> float | None:
    """Returns the score of a trial of several seeds: their interquartile mean. None if a seed has none."""
    known = [value for value in values if value is not None]
    return float(statistics.interquartile_mean(np.array(known))) if len(known) == len(values) and known else None


def facts(tasks: Sequence[Path], mode: str) -> dict[str, Any]:
    """Returns what the runs of a trial say of themselves: best, step, last_return, seconds."""
    found = [TaskDir(task).read_run() for task in tasks]
    newest: list[Any] = [row for task in tasks if (row := last_row(task / "results" / "train.csv"))]
    steps = [run["step"] for run in [*found, *newest] if isinstance(run.get("step"), int)]
    seconds = [run["seconds"] for run in found if isinstance(run.get("seconds"), int | float)]
    return {
        "best": combined([stages.best(task, mode) for task in tasks]),
        "step": max(steps, default=None),
        "last_return": float(np.mean([row["return"] for row in newest])) if newest else None,
        "seconds": round(sum(seconds), 3) if seconds else None,
    }


def write_table(folder: Path, paths: Sequence[str], rows: Sequence[Row]) -> Path:
    """Writes trials.csv; a value that is not known yet is an empty cell. paths: settings that are tried."""
    text, path = io.StringIO(), folder / "trials.csv"
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["name", *paths, "state", "score", "best", "step", "last_return", "seconds", "status", "folder"])
    for row in rows:
        settings = [cell(value) for value in row.trial.settings]
        rest = [row.state, row.score, row.best, row.step, row.last_return, row.seconds, row.status]
        table.writerow([row.trial.name, *settings, *rest, row.folder.relative_to(folder)])
    write_whole(path, text.getvalue().encode())
    return path


def cell(value: Any) -> str:
    """Returns a setting as a cell: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def write_best(folder: Path, ready: Ready, evaluation: float | None, remark: str) -> Path:
    """Writes best.yaml: a file for --yaml, whose first line says what return to expect."""
    path = folder / "best.yaml"
    promise = "" if evaluation is None else f"Return {np.format_float_positional(evaluation, 6, trim='-')}: "
    text = replace(ready.config, expected_return=None).to_yaml() if ready.config else ready.text
    write_whole(path, f"# {promise}{remark}\n{text}".encode())
    return path


def draw(
    folder: Path, config: RunConfig, tasks: Mapping[str, TaskDir], best: int, warn: Callable[[str], None]
) -> Path | None:
    """Draws learning_curves.png: a line for each run; one that cannot be drawn costs a warning. tasks: runs by name, of
    which the first `best` are those of the best trial."""
    path = folder / "learning_curves.png"
    try:
        lines, what, over = runs_table.curves_of(tasks, config.general.online_eval)
        if not lines:
            return None
        shown = sum(name in lines for name in list(tasks)[:best])
        figures.trial_curves(
            list(lines.values()), list(lines), path, title=title(config), what=what, over=over, best=shown
        )
    except Exception as error:  # matplotlib may raise anything; no figure is a reason to fail
        warn(f"warning: cannot draw the learning curves: {error}")
        return None
    return path


def title(config: RunConfig) -> str:
    """Returns what is trained, in words."""
    return f"{config.algorithms} on {getattr(config.env, 'id', config.general.env_name)}"


def curves(tasks: Mapping[str, Path], configs: Sequence[RunConfig], score: str) -> runs_table.Curves:
    """Returns the curves of runs. configs: none for a function of the user's own, whose scores are then the values."""
    if configs:
        return runs_table.curves_of(
            {name: TaskDir(task) for name, task in tasks.items()}, configs[0].general.online_eval
        )
    rows = {name: [row for row in stages.reported(task) if score in row] for name, task in tasks.items()}
    found = {
        name: (np.array([r["step"] for r in each]), np.array([r[score] for r in each])) for name, each in rows.items()
    }
    return runs_table.Curves({name: line for name, line in found.items() if len(line[0])}, score)


def table(paths: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Returns the lines of the printed table. rows: best first."""
    names = [path.rpartition(".")[2] for path in paths]
    cells = [_cells(names, row) for row in rows[:MOST_ROWS]]
    more = [f"and {len(rows) - MOST_ROWS} more in trials.csv"] if len(rows) > MOST_ROWS else []
    return ["", *runs_table.lines(cells), *more, ""]


def _cells(names: Sequence[str], row: Row) -> Mapping[str, str]:
    settings = [printable(cell(value))[:24] for value in row.trial.settings]
    return {
        "trial": row.trial.name,
        **dict(zip(names, settings, strict=True)),
        "score": "" if row.score is None else short(row.score),
        "best": "" if row.best is None else short(row.best),
        "steps": "" if row.step is None else f"{row.step:,}",
        "time": "" if row.seconds is None else clock(row.seconds),
        "state": row.state,
    }
