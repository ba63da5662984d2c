"""Sentences, cells and remarks about a comparison, for the terminal and the page."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from framework.archive.curves import UPDATES
from framework.archive.measure import BUDGETS, FEW_SEEDS, LEAST_SEEDS, NOISE, UNEQUAL, Comparison, Score, SeriesScores
from framework.archive.series import Series, changes_the_task, differing
from framework.screen.formatting import between, clock, counted, short


def number(value: float | None) -> str:
    """Returns a number as a cell; empty if it is not known."""
    return "" if value is None else short(value)


def amount(value: float | None) -> str:
    """Returns a number of steps as a cell; empty if it is not known."""
    return "" if value is None else f"{value:,.0f}"


def places(series: Series) -> list[str]:
    """Returns the folders of the runs, those with one parent together."""
    below: dict[Path, list[str]] = {}
    for run in series.runs:
        below.setdefault(run.folder.parent, []).append(run.folder.name)
    return [f"{', '.join(names)} in {parent}" for parent, names in below.items()]


def counting(compared: Comparison) -> str:
    """Returns what the steps to a threshold are: steps, or updates."""
    return "updates" if compared.curves.over == UPDATES else "steps"


def threshold(row: SeriesScores, compared: Comparison) -> dict[str, str]:
    """Returns the cells about the threshold by the head of their column."""
    return {
        "reached": f"{row.reached} of {row.scored}",
        counting(compared): amount(row.steps),
        "time": "" if row.seconds is None else clock(row.seconds),
    }


def measure(compared: Comparison) -> tuple[str, str]:
    """Returns what the scores are, and warning if the runs were not evaluated alike; else nothing."""
    runs = [run for row in compared.rows for run in row.series.runs]
    lacking = sum(not run.general.get("online_eval") for run in runs)
    if not lacking:
        return "Scores are mean returns of the online evaluations.", ""
    kind = "warning" if lacking < len(runs) else ""
    whose = f"{lacking} of {counted(len(runs), 'run')} {'was' if lacking == 1 else 'were'} trained without online_eval"
    if compared.evaluated:
        return f"Scores are mean returns of evaluations; {whose}, and evaluated at the end only.", kind
    return f"Scores are running means of the returns of training, with exploration, because {whose}.", kind


def budget(compared: Comparison) -> str:
    """Returns at which step scores are compared; empty if all runs end after about as many."""
    (least, most), unit = compared.budgets, counting(compared)
    if most <= UNEQUAL * least:
        return ""
    trained = f"{amount(least)} to {amount(most)} {unit}"
    if compared.at is not None:
        return (
            f"Scores count up to {unit.removesuffix('s')} {amount(compared.at)}, to which all runs have come; the last "
            f"ones are after {trained} (compare --at last)."
        )
    return f"The last scores are after {trained}, too unequal to tell which is better."


def sentences(compared: Comparison) -> Iterator[str]:
    """Yields what is said of each series, compared with the first."""
    first, *others = compared.rows
    for row in others:
        yield f"{row.series.name}: {_sentence(row, first)}"


def _sentence(row: SeriesScores, first: SeriesScores) -> str:
    better, name = row.improvement, first.series.name
    if better.value is None:
        return "no score yet."
    claim = f"the probability that a run of it ends higher than one of {name} is {_likely(better)}"
    if row.verdict == BUDGETS:
        return f"{claim}. Their budgets are unequal, so that this does not tell which is better."
    fewest = min(row.scored, first.scored)
    if row.verdict == "too few seeds":
        has = f"one of the two has {counted(fewest, 'seed')}"
        return f"{claim}. That says little: {has}, and an interval needs {LEAST_SEEDS}."
    if row.verdict == NOISE:
        return f"{claim}. Its interval contains 0.5: the difference is within noise."
    if "probably" not in row.verdict:
        return f"{claim}. It is {row.verdict}."
    few = f"fewer than {FEW_SEEDS} seeds are weak evidence"
    return (
        f"{claim}. It is {row.verdict}, but {few if fewest < FEW_SEEDS else 'the intervals of the two scores overlap'}."
    )


def _likely(better: Score) -> str:
    interval = f" (95 % interval {between(better.interval)})" if better.interval else ""
    return f"{number(better.value)}{interval}"


def remarks(compared: Comparison) -> Iterator[str]:
    """Yields what a reader has to know before he believes the numbers."""
    yield from _tasks(compared)
    for row in compared.rows:
        yield from _unfinished(row)
    few = [f"{row.series.name} {row.scored}" for row in compared.rows if 0 < row.scored < FEW_SEEDS]
    if few:
        none = any(row.scored < LEAST_SEEDS for row in compared.rows)
        yield (
            f"Fewer than {FEW_SEEDS} seeds ({', '.join(few)}): intervals of so few are too narrow"
            f"{f'; fewer than {LEAST_SEEDS} have none' if none else ''}."
        )


def _tasks(compared: Comparison) -> Iterator[str]:
    paths = [
        path for cells in differing([row.series for row in compared.rows]) for path in cells if changes_the_task(path)
    ]
    if paths:
        yield f"The series differ in {', '.join(paths)}: they learn different tasks, and the same score may mean less."


def _unfinished(row: SeriesScores) -> Iterator[str]:
    runs, name = row.series.runs, row.series.name
    if missing := len(runs) - row.scored:
        yield f"{name}: {counted(missing, 'run')} of {len(runs)} without a score yet, left out."
    states = Counter(run.state for run in runs if run.state != "finished")
    if states:
        named = ", ".join(f"{count} {state}" for state, count in states.items())
        yield f"{name}: {named}; what is there counts, and the last score takes the place of the final one."
