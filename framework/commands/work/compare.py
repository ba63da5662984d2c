"""Command compare: finds runs, prints what they say together, and writes compare.html and compare.csv."""

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from config.read.arguments import COMPARED_AT
from config.read.loader import ConfigError
from config.read.paths import as_written
from config.tell.language import tr
from config.tell.names import printable
from framework.archive import measure
from framework.archive.find import find
from framework.archive.measure import Comparison
from framework.archive.series import Series, gather
from framework.disk.atomic import write_whole
from framework.disk.task_dir import ROOT, new_folder
from framework.errors import JoystickError
from framework.jobs.members import file_names
from framework.pages import compare_page as page
from framework.pages import compare_table as table
from framework.screen.formatting import counted
from framework.screen.terminal import choose


class Comparisons(NamedTuple):
    """Comparisons, and the series that are left out of them."""

    several: Sequence[Comparison]
    """A comparison for each environment that has two series."""
    left_out: Sequence[str]
    """Sentences on those that have not."""


def run(request: Namespace) -> int:
    """Compares the runs that words name. Returns the exit status."""
    result = compared(request.runs, request.threshold, ROOT, request.at)
    names = [row.series.first.algorithm for comparison in result.several for row in comparison.rows]
    environments, algorithms = (
        file_names(["-".join(dict.fromkeys(group))])[0]
        for group in ([comparison.environment for comparison in result.several], names)
    )
    folder = new_folder("compare", environments, algorithms, Path(request.into) if request.into else None)
    screen = choose(sys.stdout)
    for comparison in result.several:
        table.show(comparison, screen)
    for remark in result.left_out:
        screen.say(printable(remark), "yellow")
    rows = [row for comparison in result.several for row in table.rows(comparison)]
    about = f"{folder.name}  ·  {time.strftime('%Y-%m-%d %H:%M:%S %z')}"
    for name, content in (
        ("compare.csv", table.as_csv(rows)),
        ("compare.html", page.document(result.several, result.left_out, about)),
    ):
        write_whole(folder / name, content.encode(errors="replace"))
    page_file, table_file = as_written(folder / "compare.html"), as_written(folder / "compare.csv")
    screen.say(tr("\npage   {page}\ntable  {table}", page=page_file, table=table_file))
    return 0


def compare(
    runs: str | Path | Sequence[str | Path], threshold: float | None = None, at: str = "common"
) -> list[dict[str, Any]]:
    """Compares runs, and returns a row for each series: the columns of compare.csv. Writes nothing.

    runs: names under tasks/, folders, patterns, groups of seeds or of experiments. threshold: score of which the row
    says when it is reached; None: a goal of the runs. at: common, to compare scores at a step that all runs have come
    to; last, to compare the last scores of runs of unequal lengths.
    """
    if at not in COMPARED_AT:
        raise ConfigError([tr("at: got {at!r}; expected {words}", at=at, words=tr(" or ").join(COMPARED_AT))])
    several = [runs] if isinstance(runs, str | Path) else runs
    result = compared([str(run) for run in several], threshold, ROOT, at)
    return [row for comparison in result.several for row in table.rows(comparison)]


def compared(words: Sequence[str], threshold: float | None, root: Path, at: str = "common") -> Comparisons:
    """Returns the comparisons. Raises JoystickError if there is nothing to compare."""
    sections = gather(find(words, root))
    pairs = {name: several for name, several in sections.items() if len(several) > 1}
    if not pairs:
        raise JoystickError(printable(_no_pair(sections)))
    comparisons, left_out = [], []
    for name, several in sections.items():
        comparison = measure.compare(name, several, threshold, at) if name in pairs else None
        scored = [row.series for row in comparison.rows if row.scored] if comparison else []
        if comparison is not None and len(scored) > 1:
            comparisons.append(comparison)
        elif name not in pairs:
            left_out.append(
                tr("{environment} is left out: {series} is its only series.", environment=name, series=several[0].name)
            )
        else:
            without = ", ".join(series.name for series in several if series not in scored)
            evaluated = any(run.general.get("online_eval") for series in several for run in series.runs)
            if evaluated:
                sentence = tr("{name} is left out: {without} has no evaluation yet that could be compared.")
            else:
                sentence = tr("{name} is left out: {without} has no episode yet that could be compared.")
            left_out.append(sentence.format(name=name, without=without))
    if not comparisons:
        raise JoystickError(printable(tr("nothing to compare yet: {reasons}", reasons=" ".join(left_out))))
    return Comparisons(comparisons, left_out)


def _no_pair(sections: dict[str, list[Series]]) -> str:
    """Returns why there are no two series to compare, and what to name."""
    if len(sections) > 1:
        named = ", ".join(
            tr("{series} on {environment}", series=several[0].name, environment=name)
            for name, several in sections.items()
        )
        return tr(
            "scores of different environments are not comparable: {several}; name runs of the same environment",
            several=named,
        )
    [[series]] = sections.values()
    runs = counted(len(series.runs), "run")
    if len(series.runs) == 1:
        sentence = tr(
            "there is only one series, {name} with {runs}, which is compared with itself; name another run or group too"
        )
    else:
        sentence = tr(
            "there is only one series, {name} with {runs}, which differ in their seed alone; name another run or group "
            "too"
        )
    return sentence.format(name=series.name, runs=runs)
