"""Trials of a tuning, as the folders of their runs tell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.read.task_files import GroupFiles
from framework.archive import statistics
from framework.archive.run import RecordedRun
from framework.disk.csv_table import read_csv
from framework.disk.facts import TuningFacts
from framework.disk.task_dir import read_facts
from framework.screen.formatting import number


class Trial(NamedTuple):
    """Settings that are tried, and where its training begins."""

    name: str
    """Number, such as 007; the copies that later take its place in a population are 007_2, 007_3, ..."""
    settings: tuple[Any, ...]
    parent: str = ""
    """Trial whose checkpoint it begins from; empty: none."""
    born: int | None = None
    """Environment step of that checkpoint."""

    def __hash__(self) -> int:
        """Returns a number of the name, which no other trial has: a setting may be a list or a mapping."""
        return hash(self.name)


class TrialResult(NamedTuple):
    """The progress of a trial; None for what is not known."""

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


class TrialRow(NamedTuple):
    """A row of trials.csv; None for what is not known."""

    name: str
    state: str = "waiting"
    """State when the tuning has written the row last."""
    score: float | None = None
    best: float | None = None
    step: float | None = None


def rows_of(folder: Path, most: int) -> dict[str, TrialRow]:
    """Returns the rows of trials.csv by the names of the trials. most: number of rows that are read."""
    rows = {}
    for row in read_csv(GroupFiles(folder).table("trial"))[:most]:
        name = str(row.get("folder")).rpartition("/")[2]  # the column name has numbers without their zeros
        numbers = (number(row.get(column)) for column in ("score", "best", "step"))
        rows[name] = TrialRow(name, str(row.get("state") or "waiting"), *numbers)
    return rows


def tuning_facts(folder: Path) -> TuningFacts:
    """Returns the facts in tune.json; none if it is missing or damaged."""
    return TuningFacts.read(read_facts(GroupFiles(folder).tuning))


def combined(values: Sequence[float | None]) -> float | None:
    """Returns the score of a trial of several seeds: their interquartile mean. None if a seed has none."""
    scores = [value for value in values if value is not None]
    return float(statistics.interquartile_mean(np.array(scores))) if len(scores) == len(values) and scores else None


def facts(tasks: Sequence[Path], mode: str) -> dict[str, Any]:
    """Returns what the runs of a trial say of themselves: best, step, last_return, seconds."""
    runs = [RecordedRun(task) for task in tasks]
    newest = [(run, row) for run in runs if (row := run.newest_episode())]
    steps = [run.facts.step for run in runs] + [row.get("step") for _, row in newest]
    returns = [value for run, row in newest if (value := number(row.get(run.return_column))) is not None]
    seconds = [run.facts.seconds for run in runs if run.facts.seconds is not None]
    return {
        "best": combined([run.best_score(mode) for run in runs]),
        "step": max((step for step in steps if isinstance(step, int)), default=None),
        "last_return": float(np.mean(returns)) if returns else None,
        "seconds": round(sum(seconds), 3) if seconds else None,
    }
