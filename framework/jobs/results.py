"""Results of a tuning: the table of its trials as a file and as lines, the best settings, the figure of its curves."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from config.read.loader import ConfigError, RunConfig
from config.read.task_files import GroupFiles
from config.tell.names import printable
from config.tune.space import Domain
from framework.archive.curves import Curves
from framework.archive.groups import curves_of
from framework.archive.run import RecordedRun
from framework.archive.trials import Row
from framework.disk.atomic import write_whole
from framework.disk.task_dir import TaskDir
from framework.jobs import optuna_search
from framework.jobs.plan import Ready
from framework.pages import figures
from framework.pages.tuning_page import Importance
from framework.screen import tables
from framework.screen.formatting import cell, clock, short

MOST_ROWS = 20
"""Trials that the printed table has, best first; the file has all."""


def write_table(folder: Path, paths: Sequence[str], rows: Sequence[Row]) -> Path:
    """Writes trials.csv; a value that is not known yet is an empty cell. paths: settings that are tried."""
    text, path = io.StringIO(), GroupFiles(folder).table("trial")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["name", *paths, "state", "score", "best", "step", "last_return", "seconds", "status", "folder"])
    for row in rows:
        settings = [cell(value) for value in row.trial.settings]
        rest = [row.state, row.score, row.best, row.step, row.last_return, row.seconds, row.status]
        table.writerow([row.trial.name, *settings, *rest, row.folder.relative_to(folder)])
    write_whole(path, text.getvalue().encode())
    return path


def write_best(folder: Path, ready: Ready, evaluation: float | None, remark: str) -> Path:
    """Writes best.yaml: a file for --yaml, whose first line says what return to expect."""
    path = GroupFiles(folder).best
    promise = "" if evaluation is None else f"Return {np.format_float_positional(evaluation, 6, trim='-')}: "
    text = replace(ready.config, expected_return=None).to_yaml() if ready.config else ready.text
    write_whole(path, f"# {promise}{remark}\n{text}".encode())
    return path


def draw(
    folder: Path, config: RunConfig, tasks: Mapping[str, TaskDir], best: int, warn: Callable[[str], None]
) -> Path | None:
    """Draws learning_curves.png: a line for each run; one that cannot be drawn costs a warning. tasks: runs by name, of
    which the first `best` are those of the best trial."""
    path = GroupFiles(folder).curves
    try:
        runs = {name: RecordedRun(task.path) for name, task in tasks.items()}
        lines, what, over = curves_of(runs, config.general.online_eval)
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


def curves(tasks: Mapping[str, Path], configs: Sequence[RunConfig], score: str) -> Curves:
    """Returns the curves of runs. configs: none for a function of the user's own, whose scores are then the values."""
    runs = {name: RecordedRun(task) for name, task in tasks.items()}
    if configs:
        return curves_of(runs, configs[0].general.online_eval)
    rows = {name: [row for row in run.iterations if score in row] for name, run in runs.items()}
    found = {
        name: (np.array([r["step"] for r in each]), np.array([r[score] for r in each])) for name, each in rows.items()
    }
    return Curves({name: line for name, line in found.items() if len(line[0])}, score)


def importance(domains: Sequence[Domain], rows: Sequence[Row]) -> Importance:
    """Returns what settings matter. rows: best first."""
    scored = [row for row in rows if row.score is not None and row.state != "failed"]
    if len({row.score for row in scored}) == 1:
        return Importance()
    # ranks instead of scores: those of different rungs cannot be compared
    ranks = [(row.trial.settings, -float(place)) for place, row in enumerate(scored)]
    try:
        return Importance(optuna_search.importance(domains, ranks, "max"), len(scored))
    except ConfigError as error:
        return Importance(remark=error.problems[0])


def table(paths: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Returns the lines of the printed table. rows: best first."""
    names = [path.rpartition(".")[2] for path in paths]
    cells = [_cells(names, row) for row in rows[:MOST_ROWS]]
    more = [f"and {len(rows) - MOST_ROWS} more in trials.csv"] if len(rows) > MOST_ROWS else []
    return ["", *tables.lines(cells), *more, ""]


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
