"""Results of a group of runs or of a tuning: the table as a file and as lines, and the figure of the curves."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from config.read.loader import RunConfig
from config.read.task_files import GroupFiles
from config.tell.cells import cells, padded
from config.tell.language import english, tr
from config.tell.names import printable
from config.tell.system_errors import reason_of
from framework.archive import statistics
from framework.archive.curves import Curves
from framework.archive.groups import COUNTS, RunResult, curves_of, summary, unit_of_training
from framework.archive.run import RecordedRun
from framework.archive.trials import TrialResult
from framework.disk.atomic import write_whole
from framework.pages.tuning_page import short_names
from framework.runs import signals
from framework.screen import tables
from framework.screen.formatting import between, cell, clock, counted, short, short_cell, spread
from framework.screen.stages import stage

LESS = (("min", "max"), ("steps", "updates"), ("time",))
"""Columns of the table of a group to leave out, in this order, until it fits; the CSV file has all of them."""
LONGEST_NAME = 30
"""Characters of a name in the table."""
STATUS: dict[int | None, str] = {None: tr("not started"), 0: tr("finished")}
STATUS |= {128 + number: tr("stopped") for number in signals.NAMES}
"""Exit status -> what the table says of it."""
MOST_ROWS = 20
"""Trials that the printed table has, best first; the file has all."""


# ------------------------------------------------------------------------------------------------------- files


def write_runs(folder: Path, noun: str, results: Iterable[RunResult]) -> Path:
    """Writes seeds.csv or runs.csv. noun: head of the first column."""
    return _write_table(folder, noun, [[noun, *RunResult._fields[1:]], *results])


def write_trials(folder: Path, paths: Sequence[str], rows: Iterable[TrialResult]) -> Path:
    """Writes trials.csv. paths: settings that are tried."""
    numbers = ("state", "score", "best", "step", "last_return", "seconds", "status")
    lines: list[Iterable[Any]] = [["name", *paths, *numbers, "folder"]]
    for row in rows:
        settings = (cell(value) for value in row.trial.settings)
        values = (getattr(row, name) for name in numbers)
        lines.append([row.trial.name, *settings, *values, row.folder.relative_to(folder).as_posix()])
    return _write_table(folder, "trial", lines)


def _write_table(folder: Path, noun: str, lines: Iterable[Iterable[Any]]) -> Path:
    """Writes a table; a value that is not known yet is an empty cell."""
    text, path = io.StringIO(), GroupFiles(folder).table(noun)
    csv.writer(text, lineterminator="\n").writerows(lines)
    write_whole(path, text.getvalue().encode())
    return path


def draw(folder: Path, draw_into: Callable[[Path], None], warn: Callable[[str], None]) -> Path | None:
    """Draws learning_curves.png, and returns its path; one that cannot be drawn costs a warning."""
    path = GroupFiles(folder).curves
    try:
        with stage(tr("drawing the learning curves")):
            draw_into(path)
        return path
    except Exception as error:  # matplotlib may raise anything; no figure is a reason to fail
        warn(tr("warning: cannot draw the learning curves: {error}", error=reason_of(error)))
        return None


def curves(runs: Mapping[str, RecordedRun], configs: Sequence[RunConfig], score: str) -> Curves:
    """Returns the curves of runs. configs: none for a function of the user's own, whose scores are then the values."""
    if configs:
        return curves_of(runs, configs[0].general.online_eval)
    rows = {name: [row for row in run.iterations if score in row] for name, run in runs.items()}
    lines = {
        name: (np.array([r["step"] for r in table]), np.array([r[score] for r in table]))
        for name, table in rows.items()
    }
    return Curves({name: line for name, line in lines.items() if len(line[0])}, score)


# ------------------------------------------------------------------------------------------- printed table


def sentence(result: RunResult) -> str:
    """Describes a finished run in a few words."""
    score = tr("no evaluation") if result.mean is None else _spread(result)
    unit, duration = unit_of_training([result]), clock(result.seconds or 0.0)
    if not (count := getattr(result, unit)):
        return tr("{score} in {duration}", score=score, duration=duration)
    return tr("{score}, {steps} in {duration}", score=score, steps=counted(count, unit), duration=duration)


def table_of_runs(
    results: Sequence[RunResult],
    unit: str = "seed",
    groups: Mapping[str, Sequence[RunResult]] | None = None,
    states: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Returns the lines of the table, and below it, for runs that differ in their seed, the statistics of the finished
    ones. unit: head of the first column. groups: the results of each experiment that has several seeds. states: of
    runs without an exit status, which another process may train, in words, by their folders."""
    count = unit_of_training(results)
    rows = [{unit: str(result.name)[-LONGEST_NAME:], **_cells(result, count, states)} for result in results]
    table = tables.lines(rows)
    for names in LESS:
        if cells(table[0]) <= tables.WIDTH:
            break
        rows = [{head: cell for head, cell in row.items() if head not in names} for row in rows]
        table = tables.lines(rows)
    if groups:
        called = statistics.name_of_interval(max(summary(group)["finished"] for group in groups.values()))
        return ["", *table, "", *tables.lines([_means(name, group, called) for name, group in groups.items()]), ""]
    return ["", *table, "", *([*_together(results), ""] if unit == "seed" else [])]


def _means(name: str, results: Sequence[RunResult], called: str) -> dict[str, str]:
    """Returns the cells of an experiment with several seeds: the mean of their last evaluations, and its interval if
    that is called so."""
    facts = summary(results)
    interval = facts.get("mean_interval") if statistics.name_of_interval(facts["finished"]) == called else None
    return {
        english("experiment"): name[-LONGEST_NAME:],
        english("finished"): str(facts["finished"]),
        english("mean"): short(facts["mean"]) if facts["finished"] else "",
        called: between(interval),
    }


def _cells(result: RunResult, count: str, states: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Returns the cells of a run by the head of their column. count: step or update; states: see table_of_runs."""
    status = STATUS.get(result.status, tr("status {status}", status=result.status))
    evaluated = result.mean is not None
    return {
        english("mean ± std"): _spread(result) if evaluated else "",
        "min": short_cell(result.min) if evaluated else "",
        "max": short_cell(result.max) if evaluated else "",
        english("best"): short_cell(result.best) if evaluated else "",
        **_course(getattr(result, count), result.seconds, COUNTS[count]),
        english("status"): states.get(result.folder, status) if result.status is None else status,
    }


def _course(count: int | None, seconds: float | None, unit: str = COUNTS["step"]) -> dict[str, str]:
    """Returns the cells that say how far a training came, and how long it took."""
    return {
        unit: "" if count is None else f"{count:,}",
        english("time"): "" if seconds is None else clock(seconds),
    }


def _spread(result: RunResult) -> str:
    return spread({"mean": result.mean, "std": result.std or 0.0})


def _together(results: Sequence[RunResult]) -> list[str]:
    facts = summary(results)
    count = facts["finished"]
    if not count:
        return [tr("no run finished with an evaluation")]
    lines = []
    for key, name in (("mean", tr("mean")), ("interquartile_mean", tr("interquartile mean"))):
        limits = between(facts[f"{key}_interval"])
        interval = f"   {statistics.name_of_interval(count)} {limits}" if limits else ""
        lines.append(f"{padded(name, 18)}   {short(facts[key]):>7}{interval}")
    episodes = {result.episodes for result in results if result.status == 0 and result.episodes}
    runs = counted(len(results), "run")
    if len(episodes) == 1:
        each = counted(episodes.pop(), "episode")
        text = tr("(last evaluations of {count} of {runs}, {episodes} each)", count=count, runs=runs, episodes=each)
    else:
        text = tr("(last evaluations of {count} of {runs})", count=count, runs=runs)
    return [*lines, text]


def table_of_trials(paths: Sequence[str], rows: Sequence[TrialResult]) -> list[str]:
    """Returns the lines of the table of a tuning. paths: settings that are tried; rows: best first."""
    names, shown = short_names(paths), []
    for row in rows[:MOST_ROWS]:
        settings = (printable(cell(value))[:24] for value in row.trial.settings)
        shown.append(
            {
                english("trial"): row.trial.name,
                **dict(zip(names, settings, strict=True)),
                english("score"): short_cell(row.score),
                english("best"): short_cell(row.best),
                **_course(row.step, row.seconds),
                english("state"): tr(row.state),
            }
        )
    more = [tr("and {count} more in trials.csv", count=len(rows) - MOST_ROWS)] if len(rows) > MOST_ROWS else []
    return ["", *tables.lines(shown), *more, ""]
