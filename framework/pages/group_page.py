"""report.html of a group of runs: their curves, scores and commands on one page, with a link to the report of each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.read.task_files import REPORT
from framework.archive import statistics
from framework.archive.curves import Curve, Curves, common
from framework.archive.groups import Result, summary
from framework.disk.atomic import write_whole
from framework.disk.facts import Circumstances
from framework.pages import svg
from framework.pages.html_page import (
    Link,
    Number,
    address,
    cards,
    contents,
    page,
    pairs,
    paragraph,
    section,
    table,
    text,
)
from framework.pages.html_report import settings_table, system
from framework.pages.svg import Band, Line, Polyline
from framework.screen.formatting import between, clock, counted, short

STYLE = (
    svg.STYLE
    + """
main { max-width: 66rem; } summary { cursor: pointer; margin: .6rem 0; font-size: .9rem; }
"""
)


class Member(NamedTuple):
    """Contents of the page about a run."""

    label: str
    """Name in words: seed 3."""
    state: str
    """waiting, running, finished, stopped or failed."""
    result: Result
    reason: str = ""
    """Reason of its failure; empty if it did not fail."""


class Group(NamedTuple):
    """Contents of the page about a group."""

    title: str
    runs: Sequence[Member]
    experiments: Mapping[str, Sequence[Result]]
    """The results of each experiment; none for runs that differ in their seed alone."""
    curves: Curves | None
    """The curves of the runs by their folders; None for different environments, which have no common axis."""
    levels: Mapping[str, float | None]
    """Returns to compare with, by their names."""
    settings: Mapping[str, Any]
    """The settings of each file."""
    commands: Sequence[tuple[str, str]]
    facts: Mapping[str, Any]
    """Content of group.json."""
    seconds: float
    drawn: str
    """Time of day if some of the runs have not ended; empty otherwise."""


def write(folder: Path, group: Group) -> Path:
    """Writes the page into the folder of the group. Returns its path."""
    ended = f"As it stood at {group.drawn}, while runs trained. Reload the page later." if group.drawn else ""
    begun = Circumstances.read(group.facts)
    commands = "".join(f"{paragraph(what)}<pre>{text(command)}</pre>" for what, command in group.commands)
    head = [
        f"<h1>{text(group.title)}</h1>",
        paragraph("  ·  ".join(map(str, filter(None, (folder.name, begun.started)))), "quiet"),
        cards(_facts(group)),
        paragraph(ended, "quiet") if ended else "",
    ]
    sections = [
        section("Learning curves", _curves(group)),
        section("Scores", _scores(group.experiments)),
        section("Runs", _runs(folder, group)),
        section("Commands", commands),
        *_settings(group.settings),
        section("System", pairs(system(begun))),
    ]
    path = folder / REPORT
    body = "\n".join([*head, contents("\n".join(sections))])
    write_whole(path, page(group.title, body, STYLE).encode(errors="replace"))
    return path


def _facts(group: Group) -> list[tuple[str, Any]]:
    results = [run.result for run in group.runs]
    facts = summary(results)
    finished = sum(run.state == "finished" for run in group.runs)
    known: list[tuple[str, Any]] = []
    if "mean" in facts and not group.experiments:  # runs of different settings have no common mean
        called = statistics.name_of_interval(facts["finished"])
        known += [("mean of the seeds", facts["mean"]), (called, between(facts["mean_interval"]) or None)]
        known.append(("interquartile mean", facts["interquartile_mean"]))
    ended = [("finished", f"{finished} of {len(results)}"), ("duration", clock(group.seconds))]
    levels = list(group.levels.items())
    return [*known, *levels, *ended] if known else [*ended, *levels]


# ------------------------------------------------------------------------------------------------------ the curves


def _curves(group: Group) -> str:
    if group.curves is None or not group.curves.lines:
        return ""
    series = _series(group, group.curves.lines)
    lines: list[Polyline] = []
    thin: list[Polyline] = []
    bands = []
    for number, (name, curves) in enumerate(series.items()):
        line, band = _mean(name, number, list(curves.values()))
        lines += [line] if line else []
        bands += [band] if band else []
        kind = "pale" if line else "first" if len(curves) == 1 else ""
        thin += [(Line(label, None, kind, number), svg.thinned(*curve)) for label, curve in curves.items()]
    last = max(x for _, path in lines + thin for x, _ in path)
    for name, level in group.levels.items():
        if level is not None and np.isfinite(level):
            lines.append((Line(f"{name} {short(level)}", None, "failed"), [(0.0, level), (last, level)]))
    drawn = svg.curves(lines + thin, group.curves.what, group.curves.over, bands)
    names = svg.legend(list(series)) if len(series) > 1 else ""
    return names + drawn + paragraph(_said(series, bool(bands), group.levels), "quiet")


def _series(group: Group, lines: Mapping[str, Curve]) -> dict[str, dict[str, Curve]]:
    """Returns the curves of each experiment, or of all seeds, by the names of the runs."""
    labels = {run.result.folder: run.label for run in group.runs}
    several = group.experiments or {"mean of the seeds": [run.result for run in group.runs]}
    series = {
        name: {labels[one.folder]: lines[one.folder] for one in results if one.folder in lines}
        for name, results in several.items()
    }
    return {name: curves for name, curves in series.items() if curves}


def _mean(name: str, number: int, curves: Sequence[Curve]) -> tuple[Polyline | None, Band | None]:
    """Returns the line of the mean of several curves and the band of its interval; neither if they have no common
    steps."""
    shared = common(curves) if len(curves) > 1 else None
    if shared is None:
        return None, None
    grid, values = shared
    band = Band(number, statistics.band(grid, values, statistics.mean))
    return (Line(name, None, "first", number), svg.thinned(grid, values.mean(1))), band


def _said(series: Mapping[str, Mapping[str, Curve]], banded: bool, levels: Mapping[str, float | None]) -> str:
    """Returns what the lines are."""
    most = max(map(len, series.values()))
    parts = [f"Thick: the mean, where all of its runs have values; its band: {_band_of(most)}."] if banded else []
    parts.append("Thin: the runs." if banded else "A line for each run.")
    dashed = [f"{name} {short(level)}" for name, level in levels.items() if level is not None]
    parts += [f"Dashed: {', '.join(dashed)}."] if dashed else []
    return " ".join([*parts, "The name of a line is shown under the pointer."])


def _band_of(seeds: int) -> str:
    called = statistics.name_of_interval(seeds)
    return f"its {called}" if seeds >= statistics.LEAST_SEEDS else f"{called} of {counted(seeds, 'run')}"


# --------------------------------------------------------------------------------------------- tables and settings


def _scores(experiments: Mapping[str, Sequence[Result]]) -> str:
    """Returns a row for each experiment that has several seeds."""
    if all(len(results) == 1 for results in experiments.values()):
        return ""
    rows = []
    for name, results in experiments.items():
        facts = summary(results)
        interval = between(facts.get("mean_interval"))
        called = statistics.name_of_interval(facts["finished"]) if interval else None
        rows.append((name, facts["finished"], facts.get("mean"), Number(interval), called))
    return table(("experiment", "finished", "mean of the seeds", "from, to", "which is the"), rows)


def _runs(folder: Path, group: Group) -> str:
    heads = ("run", "state", "mean ± std", "min", "max", "best", "steps", "time")
    rows = []
    for label, state, one, reason in group.runs:
        report = address(folder / one.folder / REPORT, folder)
        score = None if one.mean is None else Number(f"{short(one.mean)} ± {short(one.std or 0.0)}")
        lasted = None if one.seconds is None else Number(clock(one.seconds))
        name = Link(label, report) if report else label
        rows.append(
            (name, f"{state}: {reason}" if reason else state, score, one.min, one.max, one.best, one.step, lasted)
        )
    episodes = {run.result.episodes for run in group.runs if run.result.episodes}
    each = f", {counted(episodes.pop(), 'episode')} each" if len(episodes) == 1 else ""
    note = f"Scores come from the last evaluation{each}. The name of a run leads to its report."
    return paragraph(note, "quiet") + table(heads, rows)


def _settings(files: Mapping[str, Any]) -> list[str]:
    title = "Settings that differ from the defaults"
    if len(files) == 1:
        return [section(title, settings_table(next(iter(files.values()))))]
    tables = {name: settings_table(settings) for name, settings in files.items()}
    folded = [f"<details><summary>{text(name)}</summary>{shown}</details>" for name, shown in tables.items() if shown]
    return [section(title, "".join(folded))]
