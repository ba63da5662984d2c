"""A group of runs or a tuning, as the page shows it while it runs: curves with their means, trials, and settings that
matter."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.model.arrays import Array
from config.model.fields import is_number, same
from config.read.loader import ConfigError
from config.read.task_files import GroupFiles
from config.read.tuning import Tuning, continued
from config.tell.language import tr
from config.tell.names import printable
from framework.archive import members, statistics
from framework.archive.curve_tail import ThinnedCurve
from framework.archive.curves import EVALUATION, STEPS, TRAINING, UPDATES, Curves, interpolated, running_mean
from framework.archive.groups import begun
from framework.archive.trials import Trial, TrialResult, TrialRow, rows_of, tuning_facts
from framework.catalog import ALGOS, ENVS
from framework.jobs import optuna_search
from framework.live.overview import ListedRun, Row, stamp_of
from framework.pages import charts, svg, tuning_page
from framework.pages.charts import Axes, Charts, Line, Series
from framework.pages.html_page import joined
from framework.pages.tuning_page import Importance, TuningContents
from framework.screen.formatting import cell, number
from framework.screen.outcome import shown

MOST_CURVES = 60
"""Number of runs whose curves are shown: those that run, and then the best."""
TRIALS = tr("A line for each trial, from blue for the worst to orange for the best.")
"""Meaning of the curves of a tuning."""
VALUE = "value"
"""Key of the values of a line, beside those of its axes."""
MOST_TRIALS = 1000
"""Number of trials of a tuning that are read."""
Answer = dict[str, Any]


class RunLines(NamedTuple):
    """Points of the curve of a run that the page has."""

    episodes: ThinnedCurve
    """Returns of the episodes."""
    evaluations: ThinnedCurve
    clocks: Mapping[str, ThinnedCurve]
    """Further axis (episodes, seconds) -> how far it was at steps and updates."""


Lines = Mapping[str, RunLines]
"""Id of a run -> its lines."""
Placed = Mapping[str, tuple[Axes, Array]]
"""Id of a run -> the places of the points of its curve, and their values."""


class GroupView:
    """Tables and curves of one group; those that have not changed are not computed again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, GroupFiles(folder)
        self._tuning: tuple[Any, Tuning | None] = None, None
        """The settings of a tuning, with what they were read from."""
        self._drawn: tuple[Any, list[Line]] = None, []
        """The lines of the chart, with what they were made of."""
        self._importance: tuple[str, Importance] = "", Importance()

    def answer(self, runs: Sequence[tuple[ListedRun, Row]], lines: Lines) -> Answer:
        """Returns the curves, and what a tuning has besides. runs: those of the group. lines: of those that `shown`
        has chosen."""
        tuning = self.tuning()
        rows = self.trials(tuning, runs) if tuning else []
        curves = _curves(lines)
        placed = {key: (_axes(lines[key], curves, x), values) for key, (x, values) in curves.lines.items()}
        named = {run.id: run for run, _ in runs}
        of_trials = {run.id: _trial_of(run.folder, self.files) for run, _ in runs}
        series = {} if tuning else self._series([run for run, _ in runs])
        if tuning:
            said, drawn = TRIALS, self._trial_lines(tuning, rows, placed, of_trials)
        else:
            said, drawn = self._run_lines(placed, named, series)
        if len(runs) > MOST_CURVES:
            said = joined([said, tr("The first {most} have curves.", most=MOST_CURVES)])
        chart = Charts(smoothing=0)  # evaluations, or running means
        if drawn:
            chart.add("", tr(curves.quantity), drawn)
        return {
            "chart": chart.numbers(),
            "said": said,
            "series": {key: series[run.folder.name] for key, run in named.items() if series.get(run.folder.name)},
            **(self._of_tuning(tuning, rows, {trial: key for key, trial in of_trials.items()}) if tuning else {}),
        }

    def shown(self, runs: Sequence[tuple[ListedRun, Row]]) -> list[ListedRun]:
        """Returns the runs whose curves are shown."""
        tuning = self.tuning()
        trials = [row.trial.name for row in self.trials(tuning, runs)] if tuning else []
        places = {name: place for place, name in enumerate(trials)}

        def place(entry: tuple[ListedRun, Row]) -> tuple[bool, float, str]:
            run, row = entry
            score = number(row["score"])
            best = math.inf if score is None else -score
            return (
                not row["running"],
                places.get(_trial_of(run.folder, self.files), len(places)) if tuning else best,
                run.name,
            )

        return [run for run, _ in sorted(runs, key=place)[:MOST_CURVES]]

    # a tuning ---------------------------------------------------------------------------------------------

    def tuning(self) -> Tuning | None:
        """Returns the settings of a tuning; None for a group of runs, and if they cannot be read."""
        stamp = stamp_of(self.files.config) if self.files.tuning.is_file() else None
        if stamp != self._tuning[0]:
            try:
                self._tuning = stamp, continued(self.folder, (), {}, find_algo=ALGOS, find_env=ENVS) if stamp else None
            except (ConfigError, OSError):
                self._tuning = stamp, None
        return self._tuning[1]

    def trials(self, tuning: Tuning, runs: Sequence[tuple[ListedRun, Row]]) -> list[TrialResult]:
        """Returns the trials in the order by which the tuning chooses: those that came furthest first, and of these the
        best. Those of which a run is being trained are known to run before the tuning writes it down."""
        facts, written = tuning_facts(self.folder), rows_of(self.folder, MOST_TRIALS)
        of_trial: dict[str, list[Row]] = {}
        for run, row in runs:
            of_trial.setdefault(_trial_of(run.folder, self.files), []).append(row)
        results, reached = [], {}
        for name, settings in list(facts.settings.items())[:MOST_TRIALS]:
            values = [settings.get(domain.path) for domain in tuning.domains]
            if not values or not all(map(_is_possible, tuning.domains, values)):
                continue
            trial, own = written.get(name, TrialRow(name)), of_trial.get(name, [])
            reached[name] = _reached(trial.state, own)
            results.append(
                TrialResult(
                    trial=Trial(name, tuple(values)),
                    state=_state(trial.state, own),
                    score=trial.score,
                    best=trial.best,
                    step=_largest([*(run["step"] for run in own), trial.step]),
                    seconds=sum(run["seconds"] or 0 for run in own) or None,
                    status=None,
                    folder=self.files.trials / name,
                    last_return=_mean([run.get("mean") for run in own if run["running"]]),
                )
            )
        sign = -1 if tuning.settings.mode == "max" else 1
        return sorted(
            results,
            key=lambda row: (
                row.trial.name != facts.best,
                -reached[row.trial.name],
                row.score is None,
                sign * (row.score or 0.0),
                -(row.step or 0),
                row.trial.name,
            ),
        )

    def _contents(self, tuning: Tuning, rows: Sequence[TrialResult]) -> TuningContents:
        facts = tuning_facts(self.folder)
        best = next((row for row in rows if facts.finished and row.trial.name == facts.best), None)
        nothing = Curves({}, "")
        return TuningContents(
            self.folder, "", tuning.domains, tuning.settings, rows, best, {}, nothing, {}, (), begun(self.folder)
        )  # fmt: skip

    def _trial_lines(
        self, tuning: Tuning, rows: Sequence[TrialResult], placed: Placed, of_trials: Mapping[str, str]
    ) -> list[Line]:
        """Returns the line of each run in the color of its trial; one of its own where the trial has no score yet."""
        colors = {row.trial.name: _color(line) for row, line in tuning_page.looks(self._contents(tuning, rows))}
        return [
            Line(of_trials[key], *charts.thinned(*place), color=colors.get(of_trials[key]) or number)
            for number, (key, place) in enumerate(placed.items())
        ]

    def _of_tuning(self, tuning: Tuning, rows: Sequence[TrialResult], run_of: Mapping[str, str]) -> Answer:
        """run_of: trial -> id of a run of it."""
        axes, lines = tuning_page.coordinates(self._contents(tuning, rows))
        importance = self._of_settings(tuning, rows)
        return {
            "settings": tuning_page.short_names([domain.path for domain in tuning.domains]),
            "trials": [
                {
                    "name": row.trial.name,
                    "values": [value if number(value) is not None else cell(value) for value in row.trial.settings],
                    "run": run_of.get(row.trial.name),
                    "state_text": shown(row.state),
                    **{
                        name: getattr(row, name)
                        for name in ("state", "score", "best", "step", "last_return", "seconds")
                    },
                }
                for row in rows
            ],
            "axes": [{"name": axis.name, "ticks": list(axis.ticks())} for axis in axes],
            "parallel": [
                {
                    "name": row.trial.name,
                    "about": line.about,
                    "kind": line.kind,
                    "color": _color(line),
                    "places": [
                        None if value is None else axis.place(value) for axis, value in zip(axes, values, strict=True)
                    ],
                }
                for row, line, values in lines
            ],
            "meaning": tuning_page.LINES,
            "importance": list(importance.shares.items()),
            "scored": importance.trials,
            "remark": importance.remark,
        }

    def _of_settings(self, tuning: Tuning, rows: Sequence[TrialResult]) -> Importance:
        scores = [(row.trial.settings, row.score) for row in rows if row.score is not None and row.state != "failed"]
        key = json.dumps(scores, default=str)
        if key != self._importance[0]:
            self._importance = key, optuna_search.importance_of(tuning.domains, rows)
        return self._importance[1]

    # a group of runs --------------------------------------------------------------------------------------

    def _series(self, runs: Sequence[ListedRun]) -> dict[str, str]:
        """Returns the experiment of each run by its folder; the same one for runs that differ in their seed alone."""
        experiments = {member.folder: member.experiment for member in members.of_group(self.folder)}
        return {run.folder.name: printable(experiments.get(run.folder.name, "")) for run in runs}

    def _run_lines(
        self, placed: Placed, named: Mapping[str, ListedRun], series: Mapping[str, str]
    ) -> tuple[str, list[Line]]:
        """Returns the runs of each series behind their mean with its interval, and what these lines are, in words."""
        of_series: dict[str, list[tuple[str, Axes, Array]]] = {}
        for key, (axes, values) in placed.items():
            name = named[key].folder.name
            of_series.setdefault(series[name], []).append((printable(name), axes, values))
        several = [Series(name, _name_of_mean(name, len(runs)), runs) for name, runs in of_series.items()]
        sign = [
            (name, label, values.tobytes(), *((axis, places.tobytes()) for axis, places in axes.items()))
            for name, runs in of_series.items()
            for label, axes, values in runs
        ]
        if sign != self._drawn[0]:
            self._drawn = sign, charts.lines_of(several, statistics.mean)
        drawn = self._drawn[1]
        return charts.meaning(several, any(line.low is not None for line in drawn)) if several else "", drawn


def _name_of_mean(series: str, runs: int) -> str:
    if series:
        return tr("{name} of {count} runs", name=series, count=runs)
    return tr("mean of {count} runs", count=runs)


def _trial_of(run: Path, files: GroupFiles) -> str:
    """Returns the trial that a run belongs to; empty in a group of runs."""
    return run.relative_to(files.trials).parts[0] if files.trials in run.parents else ""


def _is_possible(domain: Any, value: Any) -> bool:
    """Returns True for a value that a domain has: those in the file of a stranger may be anything."""
    if domain.kind in tuning_page.LISTS:
        return any(same(option, value) for option in domain.values)
    low, high = map(float, domain.values)
    return is_number(value) and low <= value <= high


def _state(written: str, runs: Sequence[Row]) -> str:
    if any(run["running"] for run in runs):
        return "running"
    return "waiting" if written == "running" and not runs else printable(written)


def _reached(state: str, runs: Sequence[Row]) -> float:
    """Returns the step of the last comparison that a trial has come to; infinity at its end."""
    return math.inf if state == "finished" else min((run["pause"] or 0 for run in runs), default=0)


def _largest(values: Sequence[Any]) -> int | None:
    return max((int(value) for value in map(number, values) if value is not None), default=None)


def _mean(values: Sequence[Any]) -> float | None:
    numbers = [value for value in map(number, values) if value is not None]
    return float(np.mean(numbers)) if numbers else None


def _color(line: svg.Line | None) -> str | None:
    return None if line is None or line.share is None else svg.color(line.share)


def _curves(lines: Lines) -> Curves:
    """Returns the evaluations if all runs that have begun have two, else running means of the episodes."""
    begun = {key: line for key, line in lines.items() if line.episodes.points() or line.evaluations.points()}
    points = [point for line in begun.values() for part in line[:2] for point in part.points()]
    over = UPDATES if any(step == 0 < update for step, update, *_ in points) else STEPS
    evaluated = bool(begun) and all(len(line.evaluations.points()) > 1 for line in begun.values())
    curves = {}
    for key, line in begun.items():
        columns = _columns(line.evaluations if evaluated else line.episodes)
        if len(value := columns[VALUE]):
            curves[key] = (columns[over], value) if evaluated else running_mean(columns[over], value)[:2]
    return Curves(curves, EVALUATION if evaluated else TRAINING, over)


def _axes(line: RunLines, curves: Curves, x: Array) -> Axes:
    """Returns the places x of a curve on all axes that its files know, the main one first."""
    axes, own = {curves.over: x}, _columns(line.evaluations if curves.evaluated else line.episodes)
    for axis in {STEPS, UPDATES} - {curves.over}:
        axes[axis] = interpolated(x, own[curves.over], own[axis])
    for axis, clock in line.clocks.items():
        columns = _columns(clock)
        if len(columns[VALUE]):
            begin = (np.append(0.0, columns[name]) for name in (curves.over, VALUE))
            axes[axis] = interpolated(x, *begin)
    return charts.extended(axes)


def _columns(line: ThinnedCurve) -> dict[str, Array]:
    """Returns steps, updates and values of a line."""
    columns = np.array([point[:3] for point in line.points()], float).reshape(-1, 3).T
    return dict(zip((STEPS, UPDATES, VALUE), columns, strict=True))
