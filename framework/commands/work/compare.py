"""Command compare: finds runs, prints what they say together, and writes the page, the curves and the tables."""

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import isfinite
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from config.read.arguments import COMPARED_AT, WIDTHS
from config.read.loader import ConfigError
from config.read.paths import as_written
from config.tell.language import tr
from config.tell.names import did_you_mean, printable
from config.tell.system_errors import reason_of
from framework.archive.comparisons import Comparisons, compared
from framework.archive.measure import Comparison
from framework.archive.members import file_names
from framework.disk.atomic import remove_folder, write_whole
from framework.disk.task_dir import ROOT, new_folder
from framework.errors import JoystickError
from framework.pages import cell, figures, html_page, latex
from framework.pages import compare_page as page
from framework.pages import compare_table as table
from framework.pages import compare_words as words
from framework.pages.cell import Picture
from framework.screen.stages import stage
from framework.screen.tables import aligned
from framework.screen.terminal import Screen, choose


def run(request: Namespace) -> int:
    """Compares the runs that words name. Returns the exit status."""
    result = compared(request.runs, request.threshold, ROOT, request.at)
    names = [row.series.first.algorithm for comparison in result.several for row in comparison.rows]
    environments, algorithms = (
        file_names(["-".join(dict.fromkeys(group))])[0]
        for group in ([comparison.environment for comparison in result.several], names)
    )
    screen = choose(sys.stdout)
    for comparison in result.several:
        table.show(comparison, screen)
    for remark in result.left_out:
        screen.say(printable(remark), "yellow")
    folder = new_folder("compare", environments, algorithms, Path(request.into) if request.into else None)
    try:
        places = _written(result, folder, screen, request.width)
    except BaseException:
        remove_folder(folder)  # the same command can be typed again, with the same --into
        raise
    screen.say("")
    for line in aligned([(label, str(as_written(path))) for label, path in places]):
        screen.say(line.rstrip())
    return 0


def _written(result: Comparisons, folder: Path, screen: Screen, width: float | None) -> list[tuple[str, Path]]:
    """Writes the page, the curves and the tables. Returns their names and places. width: of a column, in inches, in
    which the curves are printed."""
    rows = [row for comparison in result.several for row in table.rows(comparison)]
    about = f"{folder.name}  ·  {time.strftime('%Y-%m-%d %H:%M:%S %z')}"
    for name, content in (
        ("compare.csv", table.as_csv(rows)),
        ("compare.tex", latex.table(result.several, about)),
        ("compare.html", page.document(result.several, result.left_out, about)),
    ):
        write_whole(folder / name, content.encode(errors="replace"))
    return [
        (tr("page"), folder / "compare.html"),
        *((tr("curves"), path) for path in _figures(result.several, folder, screen, width)),
        (tr("table"), folder / "compare.csv"),
        (tr("LaTeX"), folder / "compare.tex"),
    ]


def _figures(several: Sequence[Comparison], folder: Path, screen: Screen, width: float | None) -> list[Path]:
    """Draws the curves of each environment as a picture and for print; returns the files for print. A figure that
    cannot be drawn costs a warning. width: in inches, of those for print."""
    names = file_names(comparison.environment for comparison in several)
    prints = []
    for comparison, name in zip(several, names, strict=True):
        stem = "learning_curves" if len(several) == 1 else f"learning_curves_{name}"
        picture, printed = (folder / f"{stem}{ending}" for ending in (".png", ".pdf"))
        try:
            with stage(tr("drawing the learning curves")):
                _curves(comparison)(picture)
                _curves(comparison, width)(printed)
        except Exception as error:  # matplotlib may raise anything; no figure is a reason to fail
            why = f"{comparison.environment}: {reason_of(error)}"
            screen.say(printable(tr("warning: cannot draw the learning curves: {error}", error=why)), "yellow")
        else:
            prints.append(printed)
    return prints


def _curves(comparison: Comparison, width: float | None = None) -> Callable[[Path], None]:
    """Returns what draws the curves of the series of an environment into a file, each the mean of its runs. width: of a
    column, in inches, in which they are printed."""
    return partial(
        figures.comparison, {row.series.name: row.lines for row in comparison.rows if row.lines},
        title=comparison.environment, quantity=comparison.curves.quantity, over=comparison.curves.over,
        width=width,
    )  # fmt: skip


class Compared(list[dict[str, Any]]):
    """A row for each series, the columns of compare.csv. print() shows what the command compare says, and a notebook
    the verdict, the scores and the curves."""

    def __init__(self, result: Comparisons) -> None:
        super().__init__(row for comparison in result.several for row in table.rows(comparison))
        self._result = result

    @property
    def verdict(self) -> str:
        """Result of the comparison, in sentences."""
        several = self._result.several
        return html_page.joined(sentence for comparison in several for sentence in words.sentences(comparison))

    def plot(self, environment: str | None = None, width: float | None = None) -> Picture:
        """Draws the curves of the series, each the mean of its runs, in an environment: by default the first one.
        width: of a column of a paper, in inches; the figure has that width, small letters and no title."""
        least, most = WIDTHS
        if width is not None and not (isinstance(width, Real) and least <= width <= most):
            raise ConfigError(
                "width: got {width!r:.80}; expected a number of inches from {least} to {most}",
                width=width,
                least=least,
                most=most,
            )
        several = {comparison.environment: comparison for comparison in self._result.several}
        if environment is not None and environment not in several:
            raise JoystickError(
                "there is no comparison on {environment!r}{near}",
                environment=environment,
                near=did_you_mean(environment, several),
            )
        chosen = several[environment] if environment is not None else self._result.several[0]
        return Picture(_curves(chosen, width), tr("comparison"))

    def __repr__(self) -> str:
        screen = _Lines()
        for comparison in self._result.several:
            table.show(comparison, screen)
        return "\n".join([*screen.lines, *map(printable, self._result.left_out)]).strip()

    def _repr_html_(self) -> str:
        several = self._result.several
        title = page.title_of([row.series for row in several[0].rows]) if len(several) == 1 else tr("Comparison")
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
        raise ConfigError("at: got {at!r}; expected {words}", at=at, words=tr(" or ").join(COMPARED_AT))
    if threshold is not None and not (isinstance(threshold, Real) and isfinite(threshold)):
        end = tr("; several runs are one list: compare([A, B])") if isinstance(threshold, str | PathLike) else ""
        raise ConfigError(
            "threshold: got {threshold!r:.80}; expected a score, which is a number{end}", threshold=threshold, end=end
        )
    try:
        several = [runs] if isinstance(runs, str | PathLike) else list(runs)
        places = [fspath(run) for run in several]
    except TypeError:
        raise ConfigError("compare: got {runs!r:.80}; expected runs, or names of runs, in a list", runs=runs) from None
    return Compared(compared(places, threshold, ROOT, at))
