"""report.html of a group of runs: their curves, scores and commands on one page, with a link to the report of each."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.read.task_files import REPORT
from config.tell.language import tr
from framework.archive import statistics
from framework.archive.curves import Array, Curves, shown
from framework.archive.groups import COUNTS, RunResult, summary, unit_of_training
from framework.archive.run import RecordedRun
from framework.disk.facts import Circumstances
from framework.pages import charts
from framework.pages import html_page as html
from framework.pages.charts import Charts, Series
from framework.pages.html_report import settings, system
from framework.screen import outcome
from framework.screen.formatting import between, clock, counted, short


class Member(NamedTuple):
    """Contents of the page about a run."""

    label: str
    """Name in words: seed 3."""
    state: str
    """waiting, running, finished, stopped or failed."""
    result: RunResult
    reason: str = ""
    """Reason of its failure; empty if it did not fail."""


class Group(NamedTuple):
    """Contents of the page about a group."""

    title: str
    runs: Sequence[Member]
    experiments: Mapping[str, Sequence[RunResult]]
    """The results of each experiment; none for runs that differ in their seed alone."""
    curves: Curves | None
    """The curves of the runs by their folders; None for different environments, which have no common axis."""
    levels: Mapping[str, float | None]
    """Returns to compare with, by their names."""
    settings: Mapping[str, Any]
    """The settings of each file."""
    commands: Sequence[tuple[str, str]]
    begun: Circumstances
    seconds: float
    drawn: str
    """Time of day if some of the runs have not ended; empty otherwise."""


def write(folder: Path, group: Group) -> Path:
    """Writes the page into the folder of the group. Returns its path."""
    note = ""
    if group.drawn:
        note = tr("As it stood at {time}, while runs trained. Reload the page later.", time=group.drawn)
    levels = {tr(name): level for name, level in group.levels.items()}
    group = group._replace(levels=levels)
    head = [
        html.paragraph("  ·  ".join(map(str, filter(None, (folder.name, group.begun.started)))), "quiet"),
        html.cards(_facts(group)),
        html.paragraph(note, "quiet"),
    ]
    drawn = Charts(smoothing=0)  # evaluations, or running means
    sections = [
        html.section(tr("Learning curves"), _curves(folder, group, drawn)),
        html.section(tr("Scores"), _scores(group.experiments)),
        html.section(tr("Runs"), _runs(folder, group)),
        html.section(tr("Commands"), html.commands(group.commands)),
        *_settings(group.settings),
        html.section(tr("System"), html.pairs(system(group.begun))),
    ]
    return html.write(folder, group.title, [*head, html.contents(sections), drawn.data()])


def _facts(group: Group) -> list[tuple[str, Any]]:
    results = [run.result for run in group.runs]
    facts = summary(results)
    finished = sum(run.state == "finished" for run in group.runs)
    means: list[tuple[str, Any]] = []
    if "mean" in facts and not group.experiments:  # runs of different settings have no common mean
        called = statistics.name_of_interval(facts["finished"])
        means += [(tr("mean of the seeds"), facts["mean"]), (called, between(facts["mean_interval"]) or None)]
        means.append((tr("interquartile mean"), facts["interquartile_mean"]))
    ended = tr("{count} of {total}", count=finished, total=len(results))
    progress = [(tr("finished"), ended), (tr("duration"), clock(group.seconds))]
    levels = list(group.levels.items())
    return [*means, *levels, *progress] if means else [*progress, *levels]


# ------------------------------------------------------------------------------------------------------ the curves


def _curves(folder: Path, group: Group, drawn: Charts) -> str:
    if group.curves is None or not group.curves.lines:
        return ""
    several = _series(folder, group, group.curves)
    levels = {name: level for name, level in group.levels.items() if level is not None and np.isfinite(level)}
    lines = charts.lines_of(several, statistics.mean)
    drawn.add("runs", shown(group.curves.quantity), lines, levels, tall=True)
    banded = any(line.low is not None for line in lines)
    said = charts.meaning(several, banded, group.levels)
    return charts.TOOLS + charts.place("runs", wide=True) + html.paragraph(said, "quiet")


def _series(folder: Path, group: Group, curves: Curves) -> list[Series]:
    """Returns the curves of each experiment, or of all seeds, with the names of the runs."""
    labels = {run.result.folder: run.label for run in group.runs}
    several = group.experiments or {tr("mean of the seeds"): [run.result for run in group.runs]}

    def runs(results: Sequence[RunResult]) -> Iterator[tuple[str, charts.Axes, Array]]:
        for result in results:
            if result.folder in curves.lines:
                run, (x, values) = RecordedRun(folder / result.folder), curves.lines[result.folder]
                yield labels[result.folder], charts.axes_of(run, curves, x), values

    series = (Series(name, name, list(runs(results))) for name, results in several.items())
    return [line for line in series if line.runs]


# --------------------------------------------------------------------------------------------- tables and settings


def _scores(experiments: Mapping[str, Sequence[RunResult]]) -> str:
    """Returns a row for each experiment that has several seeds."""
    if all(len(results) == 1 for results in experiments.values()):
        return ""
    rows = []
    for name, results in experiments.items():
        facts = summary(results)
        interval = between(facts.get("mean_interval"))
        called = statistics.name_of_interval(facts["finished"]) if interval else None
        rows.append((name, facts["finished"], facts.get("mean"), html.Number(interval), called))
    heads = (tr("experiment"), tr("finished"), tr("mean of the seeds"), tr("from, to"), tr("which is the"))
    return html.table(heads, rows)


def _runs(folder: Path, group: Group) -> str:
    count = unit_of_training(run.result for run in group.runs)
    heads = (tr("run"), tr("state"), tr("mean ± std"), tr("min"), tr("max"), tr("best"), tr(COUNTS[count]), tr("time"))
    rows = []
    for label, state, result, reason in group.runs:
        report = html.address(folder / result.folder / REPORT, folder)
        score = None if result.mean is None else html.Number(f"{short(result.mean)} ± {short(result.std or 0.0)}")
        lasted = None if result.seconds is None else html.Number(clock(result.seconds))
        name = html.Link(label, report) if report else label
        numbers = result.min, result.max, result.best, getattr(result, count)
        state = outcome.shown(state)
        state = tr("{state}: {reason}", state=state, reason=reason) if reason else state
        rows.append((name, state, score, *numbers, lasted))
    episodes = {run.result.episodes for run in group.runs if run.result.episodes}
    if len(episodes) == 1:
        count = counted(episodes.pop(), "episode")
        note = tr(
            "Scores come from the last evaluation, {episodes} each. The name of a run leads to its report.",
            episodes=count,
        )
    else:
        note = tr("Scores come from the last evaluation. The name of a run leads to its report.")
    return html.paragraph(note, "quiet") + html.table(heads, rows)


def _settings(files: Mapping[str, Any]) -> list[str]:
    if len(files) == 1:
        return [html.section(tr("Settings"), settings(next(iter(files.values()))))]
    return [html.section(tr("Settings"), "".join(html.folded(name, settings(files[name])) for name in files))]
