"""Output of a group of runs: the table of its runs as a file and as lines, and the figure of their curves."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from config.read.loader import RunConfig
from config.read.task_files import GroupFiles
from framework.archive import statistics
from framework.archive.groups import Result, group_curves, mean_fact, summary
from framework.disk.atomic import write_whole
from framework.pages import figures
from framework.runs import signals
from framework.screen import tables
from framework.screen.formatting import between, clock, counted, short, spread


def sentence(one: Result) -> str:
    """Describes a finished run in a few words."""
    score = "no evaluation" if one.mean is None else _spread(one)
    steps = f", {counted(one.step, 'step')}" if one.step else ""  # none from given data alone
    return f"{score}{steps} in {clock(one.seconds or 0.0)}"


# ------------------------------------------------------------------------------------------------------- files


def write_table(folder: Path, what: str, results: Iterable[Result]) -> Path:
    """Writes seeds.csv or runs.csv; a value that is not known yet is an empty cell. what: head of the first column."""
    text, path = io.StringIO(), GroupFiles(folder).table(what)
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([what, *Result._fields[1:]])
    rows.writerows(results)
    write_whole(path, text.getvalue().encode())
    return path


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
    path, config = GroupFiles(folder).curves, configs[0]
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


# ------------------------------------------------------------------------------------------- printed table

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
    found = tables.lines(rows)
    for names in LESS:
        if len(found[0]) <= tables.WIDTH:
            break
        rows = [{head: cell for head, cell in row.items() if head not in names} for row in rows]
        found = tables.lines(rows)
    if groups:
        called = statistics.name_of_interval(max(summary(group)["finished"] for group in groups.values()))
        return ["", *found, "", *tables.lines([_means(name, group, called) for name, group in groups.items()]), ""]
    return ["", *found, "", *([*_together(results), ""] if what == "seed" else [])]


def _means(name: str, results: Sequence[Result], called: str) -> dict[str, str]:
    """Returns the cells of an experiment with several seeds: the mean of their last evaluations, and its interval if
    that is called so."""
    facts = summary(results)
    interval = facts.get("mean_interval") if statistics.name_of_interval(facts["finished"]) == called else None
    return {
        "experiment": name[-LONGEST_NAME:],
        "finished": str(facts["finished"]),
        "mean": short(facts["mean"]) if facts["finished"] else "",
        called: between(interval),
    }


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
        shown = between(facts[f"{key}_interval"])
        interval = f"   {statistics.name_of_interval(count)} {shown}" if shown else ""
        lines.append(f"{name:<18}   {short(facts[key]):>7}{interval}")
    episodes = {one.episodes for one in results if one.status == 0 and one.episodes}
    each = f", {counted(episodes.pop(), 'episode')} each" if len(episodes) == 1 else ""
    return [*lines, f"(last evaluations of {count} of {counted(len(results), 'run')}{each})"]
