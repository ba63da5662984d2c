"""Output of a group of runs: seeds.csv or runs.csv, group.json, learning_curves.png and a printed table."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.read.loader import RunConfig
from framework.archive import statistics
from framework.archive.curves import STEPS, UPDATES, column_of, running_mean, window_for
from framework.disk.atomic import write_whole
from framework.disk.csv_table import read_csv, read_table
from framework.disk.task_dir import TaskDir
from framework.pages import figures
from framework.runs import signals
from framework.screen.formatting import clock, counted, short, spread

Curve = tuple[np.ndarray, np.ndarray]
"""Environment steps (or updates) [n], returns [n]."""


class Curves(NamedTuple):
    """Curves of several runs."""

    lines: dict[str, Curve]
    """The curve of each run that has one, by its name."""
    what: str
    """Label of the returns: online evaluations if all runs have them, else running means of the training episodes."""
    over: str = STEPS
    """Label of what they are drawn over: updates if a run learned from given data before its first step."""


class Result(NamedTuple):
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
    seconds: float | None
    """Duration of the process."""
    status: int | None
    folder: str


def result(task: TaskDir, name: int | str, status: int | None, seconds: float) -> Result:
    """Returns the results that a run has written so far."""
    facts = task.read_run()
    rows: list[Any] = list(read_csv(task.results / "eval.csv"))
    last = rows[-1] if rows else {}
    return Result(
        name=name,
        mean=last.get("mean"),
        std=last.get("std"),
        min=last.get("min"),
        max=last.get("max"),
        episodes=last.get("episodes"),
        best=max((row["mean"] for row in rows), default=None),
        step=facts.get("step"),
        seconds=None if status is None else round(seconds, 1),
        status=status,
        folder=task.path.name,
    )


def sentence(one: Result) -> str:
    """Describes a finished run in a few words."""
    score = "no evaluation" if one.mean is None else _spread(one)
    steps = f", {counted(one.step, 'step')}" if one.step else ""  # none from given data alone
    return f"{score}{steps} in {clock(one.seconds or 0.0)}"


def summary(results: Iterable[Result]) -> dict[str, Any]:
    """Returns mean and interquartile mean of the last evaluations of the finished runs, each with its interval."""
    scores = np.array([one.mean for one in results if one.status == 0 and one.mean is not None], float)
    if not len(scores):
        return {"finished": 0}
    facts: dict[str, Any] = {"finished": len(scores)}
    for name, statistic in (("mean", statistics.mean), ("interquartile_mean", statistics.interquartile_mean)):
        facts[name] = float(statistic(scores))
        facts[f"{name}_interval"] = statistics.interval(scores, statistic)
    return facts


# ------------------------------------------------------------------------------------------------------- files


def write_table(folder: Path, what: str, results: Iterable[Result]) -> Path:
    """Writes seeds.csv or runs.csv; a value that is not known yet is an empty cell. what: head of the first column."""
    text, path = io.StringIO(), folder / f"{what}s.csv"
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([what, *Result._fields[1:]])
    rows.writerows(results)
    write_whole(path, text.getvalue().encode())
    return path


def curves_of(tasks: Mapping[str, TaskDir], evaluated: bool, least: int = 2, whole_windows: bool = False) -> Curves:
    """Returns the curves of runs. tasks: their task directories by name. evaluated: True to prefer evaluations, if all
    runs that have some have `least` of them. whole_windows: True for running means without their beginning, which is
    of fewer episodes."""
    evaluations: dict[str, list[Any]] = {}
    for name, task in tasks.items():
        if rows := read_csv(task.results / "eval.csv"):
            evaluations[name] = rows
    over = UPDATES if any(row["step"] == 0 < row["update"] for rows in evaluations.values() for row in rows) else STEPS
    # a run that learns from given data has no training episodes; its evaluations may be those at its end
    if (evaluated or over == UPDATES) and evaluations and all(len(rows) >= least for rows in evaluations.values()):
        return Curves(
            {name: _curve(rows, "mean", over) for name, rows in evaluations.items()}, "evaluation return", over
        )
    lines = {}
    for name, task in tasks.items():
        step, value = _curve(read_table(task.results / "train.csv"), "return", over)
        mean = running_mean(step, value)
        kept = mean.episodes >= (window_for(len(step)) if whole_windows else 1)
        if kept.any():
            lines[name] = mean.step[kept], mean.value[kept]
    return Curves(lines, "episode return, running mean", over)


def _curve(rows: Sequence[Mapping[str, Any]], name: str, over: str) -> Curve:
    counted = "update" if over == UPDATES else "step"
    step, value = column_of(rows, counted), column_of(rows, name)
    if np.isnan([step, value]).any():
        raise ValueError(f"some rows have no number as {counted} or {name}")
    return step, value


def draw(
    folder: Path,
    configs: Sequence[RunConfig],
    results: Sequence[Result],
    groups: Mapping[str, Sequence[Result]],
    show: bool,
    warn: Callable[[str], None],
) -> Path | None:
    """Draws learning_curves.png; one that cannot be drawn costs a warning. groups: the results of each experiment,
    whose mean is a line; none for runs that differ in their seed alone."""
    path, config = folder / "learning_curves.png", configs[0]
    random_return, data_return = (mean_fact(folder, results, name) for name in ("random_return", "data_return"))
    env = getattr(config.env, "id", config.general.env_name)
    try:
        lines, what, over = group_curves(folder, configs, results)
        if not lines:
            return None
        if groups:
            drawn = {
                name: [lines[one.folder] for one in group if one.folder in lines] for name, group in groups.items()
            }
            drawn = {name: group for name, group in drawn.items() if group}
            figures.comparison(
                drawn, path, title=env, what=what, over=over, show=show,
                random_return=random_return, data_return=data_return,
            )  # fmt: skip
            return path
        figures.seed_curves(
            list(lines.values()),
            path,
            names=[f"seed {one.name}" for one in results if one.folder in lines],
            title=f"{config.algorithms} on {env}",
            what=what,
            over=over,
            random_return=random_return,
            expected_return=config.expected_return,
            show=show,
        )
    except Exception as error:  # matplotlib may raise anything; no figure is a reason to fail
        warn(f"warning: cannot draw the learning curves: {error}")
        return None
    return path


def group_curves(folder: Path, configs: Sequence[RunConfig], results: Sequence[Result]) -> Curves:
    """Returns the curves of the runs of a group by their folders."""
    tasks = {one.folder: TaskDir(folder / one.folder) for one in results}
    return curves_of(tasks, all(each.general.online_eval for each in configs))


def mean_fact(folder: Path, results: Sequence[Result], name: str) -> float | None:
    """Returns the mean of a number in run.json over the runs of a group that have it; None if none has."""
    known = [TaskDir(folder / one.folder).read_run().get(name) for one in results]
    found = [value for value in known if value is not None]
    return sum(found) / len(found) if found else None


# ------------------------------------------------------------------------------------------- printed table

WIDTH = 80
"""Columns of the standard terminal."""
LESS = (("min", "max"), ("steps",), ("time",))
"""Columns of the table to leave out, in this order, until it fits; the CSV file has all of them."""
LONGEST_NAME = 30
"""Characters of a name in the table."""
STATUS: dict[int | None, str] = {None: "not started", 0: "finished"}
STATUS |= {128 + number: "stopped" for number in signals.NAMES}
"""Exit status -> what the table says of it."""


def table(
    results: Sequence[Result], what: str = "seed", groups: Mapping[str, Sequence[Result]] | None = None
) -> list[str]:
    """Returns the lines of the table, and below it, for runs that differ in their seed, the statistics of the finished
    ones. what: head of the first column. groups: the results of each experiment that has several seeds."""
    rows = [{what: str(one.name)[-LONGEST_NAME:], **_cells(one)} for one in results]
    found = lines(rows)
    for names in LESS:
        if len(found[0]) <= WIDTH:
            break
        rows = [{head: cell for head, cell in row.items() if head not in names} for row in rows]
        found = lines(rows)
    if groups:
        called = statistics.name_of_interval(max(summary(group)["finished"] for group in groups.values()))
        return ["", *found, "", *lines([_means(name, group, called) for name, group in groups.items()]), ""]
    return ["", *found, "", *([*_together(results), ""] if what == "seed" else [])]


def _means(name: str, results: Sequence[Result], called: str) -> dict[str, str]:
    """Returns the cells of an experiment with several seeds: the mean of their last evaluations, and its interval if
    that is called so."""
    facts = summary(results)
    between = facts.get("mean_interval") if statistics.name_of_interval(facts["finished"]) == called else None
    return {
        "experiment": name[-LONGEST_NAME:],
        "finished": str(facts["finished"]),
        "mean": short(facts["mean"]) if facts["finished"] else "",
        called: f"{short(between[0])} to {short(between[1])}" if between else "",
    }


def lines(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns a table whose rows have the same heads as aligned lines."""
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in rows[0]}
    heads = "  ".join(f"{head:>{width}}" for head, width in widths.items())
    return [heads, *("  ".join(f"{row[head]:>{width}}" for head, width in widths.items()) for row in rows)]


def _cells(one: Result) -> dict[str, str]:
    """Returns the cells of a row by the head of their column."""
    known = one.mean is not None
    return {
        "mean ± std": _spread(one) if known else "",
        "min": short(one.min or 0.0) if known else "",
        "max": short(one.max or 0.0) if known else "",
        "best": short(one.best or 0.0) if known else "",
        "steps": "" if one.step is None else f"{one.step:,}",
        "time": "" if one.seconds is None else clock(one.seconds),
        "status": STATUS.get(one.status, f"status {one.status}"),
    }


def _spread(one: Result) -> str:
    return spread({"mean": one.mean, "std": one.std or 0.0})


def _together(results: Sequence[Result]) -> list[str]:
    facts = summary(results)
    count = facts["finished"]
    if not count:
        return ["no run finished with an evaluation"]
    lines = []
    for key, name in (("mean", "mean"), ("interquartile_mean", "interquartile mean")):
        between = facts[f"{key}_interval"]
        called = statistics.name_of_interval(count)
        interval = f"   {called} {short(between[0])} to {short(between[1])}" if between else ""
        lines.append(f"{name:<18}   {short(facts[key]):>7}{interval}")
    episodes = {one.episodes for one in results if one.status == 0 and one.episodes}
    each = f", {counted(episodes.pop(), 'episode')} each" if len(episodes) == 1 else ""
    return [*lines, f"(last evaluations of {count} of {counted(len(results), 'run')}{each})"]
