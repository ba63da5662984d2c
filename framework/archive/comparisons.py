"""Comparisons of runs that words name: one for each environment with two series, or one of several runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from config.tell.language import tr
from config.tell.names import printable
from framework.archive import measure
from framework.archive.find import find
from framework.archive.measure import Comparison
from framework.archive.series import Series, gather
from framework.errors import JoystickError


class Comparisons(NamedTuple):
    """Comparisons, and the series that are left out of them."""

    several: Sequence[Comparison]
    """A comparison for each environment that has two series, or one of several runs."""
    left_out: Sequence[str]
    """Sentences on those that have not."""


def compared(words: Sequence[str], threshold: float | None, root: Path, at: str = "common") -> Comparisons:
    """Returns the comparisons. Raises JoystickError if there is nothing to compare."""
    if not words:
        raise JoystickError("nothing to compare: name at least two runs or groups")
    sections = gather(find(words, root))
    single = {name for name, several in sections.items() if len(several) == 1 and len(several[0].runs) == 1}
    if len(single) == len(sections):
        raise JoystickError(printable(_single(sections)))
    comparisons, left_out = [], []
    for name, several in sections.items():
        comparison = measure.compare(name, several, threshold, at) if name not in single else None
        scored = [row.series for row in comparison.rows if row.scored] if comparison else []
        if comparison is not None and len(scored) >= min(len(several), 2):
            comparisons.append(comparison)
        elif name in single:
            left_out.append(
                tr("{environment} is left out: {series} is its only run.", environment=name, series=several[0].name)
            )
        else:
            without = ", ".join(series.name for series in several if series not in scored)
            evaluated = any(run.general.get("online_eval") for series in several for run in series.runs)
            if evaluated:
                sentence = tr("{name} is left out: there is no evaluation of {without} yet that could be compared.")
            else:
                sentence = tr("{name} is left out: there is no episode of {without} yet that could be compared.")
            left_out.append(sentence.format(name=name, without=without))
    if not comparisons:
        raise JoystickError(printable(tr("nothing to compare yet: {reasons}", reasons=" ".join(left_out))))
    return Comparisons(comparisons, left_out)


def _single(sections: dict[str, list[Series]]) -> str:
    """Returns why there is nothing to compare where each environment has a single run, and what to name."""
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
    return tr("there is only one run, of {name}; name another run or group too", name=series.name)
