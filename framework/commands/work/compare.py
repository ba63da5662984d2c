"""Command compare: finds runs, prints what they say together, and writes compare.html and compare.csv."""

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from config.read.arguments import COMPARED_AT
from config.read.loader import ConfigError
from config.read.paths import as_written
from config.tell.names import printable
from framework.archive.comparisons import compared
from framework.disk.atomic import write_whole
from framework.disk.task_dir import ROOT, new_folder
from framework.jobs.members import file_names
from framework.pages import compare_page as page
from framework.pages import compare_table as table
from framework.screen.terminal import choose


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
    screen.say(f"\npage   {as_written(folder / 'compare.html')}\ntable  {as_written(folder / 'compare.csv')}")
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
        raise ConfigError([f"at: got {at!r}; expected {' or '.join(COMPARED_AT)}"])
    several = [runs] if isinstance(runs, str | Path) else runs
    result = compared([str(run) for run in several], threshold, ROOT, at)
    return [row for comparison in result.several for row in table.rows(comparison)]
