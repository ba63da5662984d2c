"""Command compare: finds runs, prints what they say together, and writes compare.html and compare.csv."""

import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from config.read.arguments import COMPARED_AT
from config.read.loader import ConfigError
from config.read.paths import as_written
from config.tell.language import tr
from config.tell.names import did_you_mean, printable
from framework.archive import measure
from framework.archive.find import find
from framework.archive.measure import Comparison
from framework.archive.series import Series, gather
from framework.disk.atomic import write_whole
from framework.disk.task_dir import ROOT, new_folder
from framework.errors import JoystickError
from framework.jobs.members import file_names
from framework.pages import cell, figures, html_page
from framework.pages import compare_page as page
from framework.pages import compare_table as table
from framework.pages import compare_words as words
from framework.pages.cell import Picture
from framework.screen.formatting import counted
from framework.screen.terminal import Screen, choose


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


class Compared(list[dict[str, Any]]):
    """A row for each series, the columns of compare.csv. print() shows what the command compare says, and a notebook
    the verdict, the scores and the curves."""

    def __init__(self, result: Comparisons) -> None:
        super().__init__(row for comparison in result.several for row in table.rows(comparison))
        self._result = result

    @property
    def verdict(self) -> str:
        """What the comparison says, in sentences."""
        return " ".join(sentence for comparison in self._result.several for sentence in words.sentences(comparison))

    def plot(self, environment: str | None = None) -> Picture:
        """Draws the curves of the series, each the mean of its runs, in an environment: by default the first one."""
        several = {comparison.environment: comparison for comparison in self._result.several}
        if environment is not None and environment not in several:
            raise JoystickError(f"there is no comparison on {environment!r}{did_you_mean(environment, several)}")
        chosen = several[environment] if environment is not None else self._result.several[0]
        groups = {row.series.name: row.lines for row in chosen.rows if row.lines}
        draw = partial(
            figures.comparison, groups,
            title=chosen.environment, quantity=chosen.curves.quantity, over=chosen.curves.over,
        )  # fmt: skip
        return Picture(cell.png(draw), "comparison")

    def __repr__(self) -> str:
        screen = _Lines()
        for comparison in self._result.several:
            table.show(comparison, screen)
        return "\n".join([*screen.lines, *map(printable, self._result.left_out)]).strip()

    def _repr_html_(self) -> str:
        several = self._result.several
        title = page.title_of([row.series for row in several[0].rows]) if len(several) == 1 else "Comparison"
        parts = [html_page.paragraph(remark, "warning") for remark in self._result.left_out]
        for comparison in several:
            parts += [f"<p><b>{html_page.text(comparison.environment)}</b></p>"] if len(several) > 1 else []
            parts += page.in_a_cell(comparison)
        return cell.block(title, "", *parts)


class _Lines(Screen):
    """Keeps the lines that it is told to show."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str, style: str = "") -> None:
        self.lines.append(text)


def compare(
    runs: str | PathLike[str] | Iterable[str | PathLike[str]], threshold: float | None = None, at: str = "common"
) -> Compared:
    """Compares runs, and returns a row for each series, with the verdict and figures. Writes nothing.

    runs: joystick.Runs, groups of joystick.train, names under tasks/, folders, patterns. threshold: score of which the
    row says when it is reached; None: a goal of the runs. at: common, to compare scores at a step that all runs have
    come to; last, to compare the last scores of runs of unequal lengths.
    """
    if at not in COMPARED_AT:
        raise ConfigError([tr("at: got {at!r}; expected {words}", at=at, words=tr(" or ").join(COMPARED_AT))])
    try:
        several = [runs] if isinstance(runs, str | PathLike) else list(runs)
        places = [fspath(run) for run in several]
    except TypeError:
        text = tr("compare: got {runs!r:.80}; expected runs, or names of runs, in a list", runs=runs)
        raise ConfigError([text]) from None
    return Compared(compared(places, threshold, ROOT, at))


def compared(words: Sequence[str], threshold: float | None, root: Path, at: str = "common") -> Comparisons:
    """Returns the comparisons. Raises JoystickError if there is nothing to compare."""
    if not words:
        raise JoystickError("nothing to compare: name at least two runs or groups")
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
