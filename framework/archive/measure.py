"""Scores of series, what is within noise, and what it takes to reach a threshold."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from config.tell.language import english, tr
from framework.archive import statistics
from framework.archive.curves import Curve, Curves, finite, seconds_at
from framework.archive.groups import curves_of
from framework.archive.run import RecordedRun
from framework.archive.series import Series
from framework.archive.statistics import LEAST_SEEDS
from framework.disk.csv_table import Table, head_of
from framework.errors import TaskDirError
from framework.screen.formatting import short
from framework.screen.stages import each

UNEQUAL = 1.1
"""Ratio of the budgets of two runs above which their last scores are not compared."""
FEW_SEEDS = 5
"""Number of seeds below which a difference is only probable."""
WAY = 0.9
"""Part of the way from the worst score to the best one at the end that is the threshold, if no goal is known."""
NO_SCORE = english("no score yet")
TOO_FEW = english("too few seeds")
NOISE = english("within noise")
BUDGETS = english("unequal budgets")
BETTER, WORSE = english("better"), english("worse")
PROBABLY = {BETTER: english("probably better"), WORSE: english("probably worse")}
"""Verdicts, which compare.csv has in English."""
Interval = tuple[float, float] | None


class Score(NamedTuple):
    """Interquartile mean over the runs of a series; None without a run that has a score."""

    value: float | None
    interval: Interval


class Threshold(NamedTuple):
    value: float
    origin: str
    """Source of the value, in words."""


class SeriesScores(NamedTuple):
    """Scores of a series, and its comparison with the first one."""

    series: Series
    lines: Sequence[Curve]
    """Curves of the runs that have one."""
    within: Sequence[Curve]
    """The same up to the step at which scores are compared."""
    final: Score
    best: Score
    improvement: Score
    """Probability that a run of this series has a higher final score than one of the first series; none for that."""
    verdict: str
    """Verdict on that probability, in words; empty for the first series."""
    reached: int
    """Number of runs that reach the threshold."""
    steps: float | None
    """Median over the runs of the steps (or updates) until they reach it; None if half of them never do."""
    seconds: float | None
    """Median of the seconds of training until then; None if they are not known, too."""

    @property
    def scored(self) -> int:
        """Number of runs that have a score."""
        return len(self.lines)


class Comparison(NamedTuple):
    """The series of one environment."""

    environment: str
    rows: Sequence[SeriesScores]
    curves: Curves
    threshold: Threshold
    at: float | None = None
    """Step (or update) up to which scores count, since some runs ended there or soon after; None: to the end of each
    run."""

    @property
    def budgets(self) -> tuple[float, float]:
        """Least and most steps (or updates) at the last score of a run."""
        ends = [float(line[0][-1]) for row in self.rows for line in row.lines]
        return min(ends), max(ends)


def compare(
    environment: str, several: Sequence[Series], threshold: float | None, at: str = "common"
) -> Comparison | None:
    """Compares the series of an environment with the first that has a score; those without one come last. None if no
    series has one. at: common, to compare scores at a step that all runs have come to, or last."""
    runs = [run for series in several for run in series.runs]
    curves = _curves(runs)
    if not curves.lines:
        return None
    goal = Threshold(threshold, "--threshold") if threshold is not None else _goal(runs, curves)
    rows: list[SeriesScores] = []
    step = common_step(list(curves.lines.values())) if at == "common" else None
    for series in sorted(several, key=lambda series: not _scored(series, curves)):
        rows.append(_row(series, curves, goal.value, step, rows[0] if rows else None))
    return Comparison(environment, rows, curves, goal, step)


def common_step(lines: Sequence[Curve]) -> float | None:
    """Returns the highest step up to which all curves have scores of about equal budgets; None if the budgets of whole
    curves are about equal, or if there is no such step."""
    step = math.inf
    while True:
        ends = [float(line[0][line[0] <= step][-1]) if (line[0] <= step).any() else -math.inf for line in lines]
        if not _unequal(ends):
            return max(ends) if math.isfinite(step) else None
        if min(ends) == -math.inf:
            return None
        step = min(ends)


def _unequal(ends: Sequence[float]) -> bool:
    """Returns True if the budgets differ too much for a comparison."""
    return max(ends) > UNEQUAL * min(ends)


def _scored(series: Series, curves: Curves) -> list[RecordedRun]:
    """Returns the runs of a series that have a curve."""
    return [run for run in series.runs if str(run.folder) in curves.lines]


def _row(
    series: Series, curves: Curves, threshold: float, at: float | None, first: SeriesScores | None
) -> SeriesScores:
    runs = _scored(series, curves)
    lines = [curves.lines[str(run.folder)] for run in runs]
    within = lines if at is None else [(step[step <= at], value[step <= at]) for step, value in lines]
    final, best = _score([line[1][-1] for line in within]), _score([line[1].max() for line in within])
    better = Score(None, None) if first is None else _improvement(within, first.within)
    steps = [_step_of(line, threshold) for line in lines]
    seconds = [
        math.inf if math.isinf(step) else float(seconds_at(run.iterations, curves.over, np.array([step]))[0])
        for run, step in zip(runs, steps, strict=True)
    ]
    remark = "" if first is None else verdict(better, final, first.final, min(len(lines), len(first.lines)))
    if first is not None and lines and _unequal([float(line[0][-1]) for line in (*within, *first.within)]):
        remark = BUDGETS
    reached = sum(math.isfinite(step) for step in steps)
    return SeriesScores(series, lines, within, final, best, better, remark, reached, _median(steps), _median(seconds))


# ------------------------------------------------------------------------------------------------- what is read


def _curves(runs: Sequence[RecordedRun]) -> Curves:
    """Returns the curves of the runs by their folders: evaluations if all of them have online evaluation, or if one has
    learned from given data, which knows no episodes of training; else running means of the training episodes."""
    evaluated = all(run.general.get("online_eval") for run in runs)
    for run in each(tr("reading curves"), runs, tr("runs")):
        _check(run.task.eval, run.rows_of_eval, "mean")
        if not run.evaluations or not evaluated:
            _check(run.task.train, run.episodes, run.return_column)
    # one lucky episode at the beginning is not a score
    curves = curves_of({str(run.folder): run for run in runs}, evaluated, least=1, whole_windows=True)
    lines = {name: _finite(line) for name, line in curves.lines.items()}
    return curves._replace(lines={name: line for name, line in lines.items() if len(line[0])})


def _finite(line: Curve) -> Curve:
    step, value = finite(*line)
    return step, value


def _check(path: Path, rows: Table, score: str) -> None:
    """Raises TaskDirError for a damaged table. score: name of its column of scores."""
    before = -math.inf
    if not rows and path.is_file() and score not in head_of(path):
        raise TaskDirError("{path} is damaged: its first line names no column {score}", path=path, score=score)
    if rows.broken_line is not None:
        raise TaskDirError(
            "{path} is damaged: line {number} has not as many cells as the first", path=path, number=rows.broken_line
        )
    for number, row in enumerate(rows, start=2):
        for column in ("step", "update", score):
            value = row.get(column, math.nan)
            if not isinstance(value, int | float) or math.isnan(value):  # an empty cell is read as NaN
                value = repr(value)[:40] if isinstance(value, str) else tr("nothing")
                raise TaskDirError(
                    "{path} is damaged: row {number} has {value} as {column}, which is a number",
                    path=path,
                    number=number,
                    value=value,
                    column=column,
                )
        if float(row["step"]) < before:
            raise TaskDirError("{path} is damaged: the steps go back at row {number}", path=path, number=number)
        before = float(row["step"])


# ----------------------------------------------------------------------------------------------------- the scores


def _score(values: Sequence[float]) -> Score:
    scores = np.array(values, float)
    if not len(scores):
        return Score(None, None)
    between = statistics.interval(scores, statistics.interquartile_mean) if len(scores) >= LEAST_SEEDS else None
    return Score(float(statistics.interquartile_mean(scores)), between)


def _improvement(lines: Sequence[Curve], first: Sequence[Curve]) -> Score:
    """Returns the probability that the last value of a line is higher than that of one of the first series."""
    ends = [np.array([line[1][-1] for line in group], float) for group in (lines, first)]
    if not all(map(len, ends)):
        return Score(None, None)
    enough = min(map(len, ends)) >= LEAST_SEEDS
    between = statistics.stratified_interval(ends, statistics.improvement) if enough else None
    return Score(float(statistics.improvement(*ends)), between)


def verdict(better: Score, final: Score, first: Score, fewest: int) -> str:
    """Returns what a probability of improvement says. final, first: the scores that it compares; fewest: number of
    seeds of the series that has fewer."""
    if better.value is None:
        return NO_SCORE
    if better.interval is None or final.interval is None or first.interval is None:
        return TOO_FEW
    low, high = better.interval
    if low <= 0.5 <= high:
        return NOISE
    word = BETTER if low > 0.5 else WORSE
    overlap = final.interval[0] <= first.interval[1] and first.interval[0] <= final.interval[1]
    return PROBABLY[word] if overlap or fewest < FEW_SEEDS else word


# --------------------------------------------------------------------------------------------------- the threshold


def _goal(runs: Sequence[RecordedRun], curves: Curves) -> Threshold:
    """Returns the lowest goal that the runs have, if one of them reaches it; else a part of the way to the best end."""
    setting = "reward_threshold" if curves.evaluated else "stop_return"
    goals = [
        (run.general.get(setting), f"general_cfg.{setting}")
        if run.general.get(setting) is not None
        else (run.facts.expected_return, tr("what the preset promises"))
        for run in runs
    ]
    thresholds = [(float(goal), name) for goal, name in goals if isinstance(goal, int | float) and math.isfinite(goal)]
    goal, name = min(thresholds, default=(math.inf, ""))
    if any(line[1].max() >= goal for line in curves.lines.values()):
        return Threshold(goal, name)
    low = min(float(line[1].min()) for line in curves.lines.values())
    high = max(float(line[1][-1]) for line in curves.lines.values())
    way = tr(
        "{percent:.0f} % of the way from the worst score, {lowest}, to the best at the end, {highest}",
        percent=100 * WAY,
        lowest=short(low),
        highest=short(high),
    )
    return Threshold(low + WAY * (high - low), way)


def _step_of(line: Curve, threshold: float) -> float:
    """Returns the first step at which a curve is at the threshold or above; infinity if it never is."""
    places = np.flatnonzero(line[1] >= threshold)
    return float(line[0][places[0]]) if len(places) else math.inf


def _median(values: Sequence[float]) -> float | None:
    """Returns the median; None if that is infinite, or if a value is not known."""
    middle = float(np.median(values)) if len(values) else math.nan
    return middle if math.isfinite(middle) else None
