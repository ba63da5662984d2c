"""Comparisons of runs that words name: one for each environment with two series."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from config.tell.names import printable
from framework.archive import measure
from framework.archive.find import find
from framework.archive.measure import Comparison
from framework.archive.series import Series, gather
from framework.errors import JoystickError
from framework.screen.formatting import counted


class Comparisons(NamedTuple):
    """Comparisons, and the series that are left out of them."""

    several: Sequence[Comparison]
    """A comparison for each environment that has two series."""
    left_out: Sequence[str]
    """Sentences on those that have not."""


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
            left_out.append(f"{name} is left out: {several[0].name} is its only series.")
        else:
            without = ", ".join(series.name for series in several if series not in scored)
            evaluated = any(run.general.get("online_eval") for series in several for run in series.runs)
            noun = "evaluation" if evaluated else "episode"
            left_out.append(f"{name} is left out: {without} has no {noun} yet that could be compared.")
    if not comparisons:
        raise JoystickError(printable(f"nothing to compare yet: {' '.join(left_out)}"))
    return Comparisons(comparisons, left_out)


def _no_pair(sections: dict[str, list[Series]]) -> str:
    """Returns why there are no two series to compare, and what to name."""
    if len(sections) > 1:
        named = ", ".join(f"{several[0].name} on {name}" for name, several in sections.items())
        return f"scores of different environments are not comparable: {named}; name runs of the same environment"
    [[series]] = sections.values()
    runs = counted(len(series.runs), "run")
    only = "which is compared with itself" if len(series.runs) == 1 else "which differ in their seed alone"
    return f"there is only one series, {series.name} with {runs}, {only}; name another run or group too"
