"""Sentences, cells and remarks about a comparison, for the terminal and the page."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from config.tell.language import english, tr
from framework.archive.curves import UPDATES
from framework.archive.measure import (
    BUDGETS,
    FEW_SEEDS,
    LEAST_SEEDS,
    NOISE,
    PROBABLY,
    TOO_FEW,
    UNEQUAL,
    Comparison,
    Score,
    SeriesScores,
)
from framework.archive.series import Series, changes_the_task, differing
from framework.screen import outcome
from framework.screen.formatting import between, cell, clock, counted, short_cell


def amount(value: float | None) -> str:
    """Returns a number of steps as a cell; empty if it is not known."""
    return "" if value is None else f"{value:,.0f}"


def places(series: Series) -> list[str]:
    """Returns the folders of the runs, those with one parent together."""
    below: dict[Path, list[str]] = {}
    for run in series.runs:
        below.setdefault(run.folder.parent, []).append(run.folder.name)
    return [tr("{names} in {folder}", names=", ".join(names), folder=parent) for parent, names in below.items()]


def counting(compared: Comparison) -> str:
    """Returns what the steps to a threshold are: steps, or updates."""
    return english("updates") if compared.curves.over == UPDATES else english("steps")


def threshold(row: SeriesScores, compared: Comparison) -> dict[str, str]:
    """Returns the cells about the threshold by the head of their column."""
    return {
        english("reached"): tr("{count} of {total}", count=row.reached, total=row.scored),
        counting(compared): amount(row.steps),
        english("time"): "" if row.seconds is None else clock(row.seconds),
    }


def measure(compared: Comparison) -> tuple[str, str]:
    """Returns what the scores are, and warning if the runs were not evaluated alike; else nothing."""
    runs = [run for row in compared.rows for run in row.series.runs]
    lacking = sum(not run.general.get("online_eval") for run in runs)
    if not lacking and compared.curves.evaluated:
        return tr("Scores are mean returns of the online evaluations."), ""
    kind = "warning" if 0 < lacking < len(runs) else ""
    every = counted(len(runs), "run")
    if not lacking:
        whose = tr("no run has an evaluation yet")
    elif lacking == 1:
        whose = tr("1 of {runs} was trained without online_eval", runs=every)
    else:
        whose = tr("{count} of {runs} were trained without online_eval", count=lacking, runs=every)
    if compared.curves.evaluated:
        return tr("Scores are mean returns of evaluations; {whose}, and evaluated at the end only.", whose=whose), kind
    sentence = tr(
        "Scores are running means of the returns of training, with exploration, because {whose}.", whose=whose
    )
    return sentence, kind


def budget(compared: Comparison) -> str:
    """Returns at which step scores are compared; empty if all runs end after about as many."""
    least, most = compared.budgets
    if most <= UNEQUAL * least:
        return ""
    over_updates, ends = compared.curves.over == UPDATES, {"least": amount(least), "most": amount(most)}
    trained = tr("{least} to {most} updates", **ends) if over_updates else tr("{least} to {most} steps", **ends)
    if compared.at is None:
        return tr("The last scores are after {trained}, too unequal to tell which is better.", trained=trained)
    if over_updates:
        return tr(
            "Scores count up to update {at}, to which all runs have come; the last ones are after {trained} "
            "(compare --at last).",
            at=amount(compared.at),
            trained=trained,
        )
    return tr(
        "Scores count up to step {at}, to which all runs have come; the last ones are after {trained} "
        "(compare --at last).",
        at=amount(compared.at),
        trained=trained,
    )


def sentences(compared: Comparison) -> Iterator[str]:
    """Yields what is said of each series, compared with the first."""
    first, *others = compared.rows
    if not others:
        name = first.series.name
        yield tr("There is one series, {series}: name another run or group to compare it with.", series=name)
    for row in others:
        yield tr("{series}: {sentence}", series=row.series.name, sentence=_sentence(row, first))


def _sentence(row: SeriesScores, first: SeriesScores) -> str:
    better, name = row.improvement, first.series.name
    if better.value is None:
        return tr("no score yet.")
    claim = tr(
        "the probability that a run of it ends higher than one of {name} is {probability}",
        name=name,
        probability=_likely(better),
    )
    if row.verdict == BUDGETS:
        return tr("{claim}. Their budgets are unequal, so that this does not tell which is better.", claim=claim)
    fewest = min(row.scored, first.scored)
    if row.verdict == TOO_FEW:
        return tr(
            "{claim}. That says little: one of the two has {seeds}, and an interval needs {least}.",
            claim=claim,
            seeds=counted(fewest, "seed"),
            least=LEAST_SEEDS,
        )
    if row.verdict == NOISE:
        return tr("{claim}. Its interval contains 0.5: the difference is within noise.", claim=claim)
    verdict = tr(row.verdict)
    if row.verdict not in PROBABLY.values():
        return tr("{claim}. It is {verdict}.", claim=claim, verdict=verdict)
    if fewest < FEW_SEEDS:
        return tr(
            "{claim}. It is {verdict}, but fewer than {count} seeds are weak evidence.",
            claim=claim,
            verdict=verdict,
            count=FEW_SEEDS,
        )
    return tr("{claim}. It is {verdict}, but the intervals of the two scores overlap.", claim=claim, verdict=verdict)


def _likely(better: Score) -> str:
    value = short_cell(better.value)
    if not better.interval:
        return value
    return tr("{value} (95 % interval {interval})", value=value, interval=between(better.interval))


def remarks(compared: Comparison) -> Iterator[str]:
    """Yields what a reader has to know before he believes the numbers."""
    yield from _tasks(compared)
    yield from _code(compared)
    for row in compared.rows:
        yield from _unfinished(row)
    few = [f"{row.series.name} {row.scored}" for row in compared.rows if 0 < row.scored < FEW_SEEDS]
    if few:
        named = tr(", ").join(few)
        if any(row.scored < LEAST_SEEDS for row in compared.rows):
            yield tr(
                "Fewer than {count} seeds ({series}): intervals of so few are too narrow; fewer than {least} have "
                "none.",
                count=FEW_SEEDS,
                series=named,
                least=LEAST_SEEDS,
            )
        else:
            yield tr(
                "Fewer than {count} seeds ({series}): intervals of so few are too narrow.",
                count=FEW_SEEDS,
                series=named,
            )


def _tasks(compared: Comparison) -> Iterator[str]:
    paths = [
        path for cells in differing([row.series for row in compared.rows]) for path in cells if changes_the_task(path)
    ]
    limits = {row.series.settings.get("general_cfg.max_step") for row in compared.rows}
    if paths == ["general_cfg.max_step"] and -1 in limits and len(limits) == 2:
        yield tr(
            "The series differ in general_cfg.max_step, where -1 is the limit of the environment itself: unless that "
            "is {limit}, too, they learn different tasks, and the same score may mean less.",
            limit=cell(max(limits, key=lambda limit: limit != -1)),
        )
    elif paths:
        yield tr(
            "The series differ in {settings}: they learn different tasks, and the same score may mean less.",
            settings=", ".join(paths),
        )


def _code(compared: Comparison) -> Iterator[str]:
    versions = defaultdict(set)
    for row in compared.rows:
        for run in row.series.runs:
            for path, digest in (run.facts.code or {}).items():
                versions[path].add(digest)
    if several := [path for path, digests in versions.items() if len(digests) > 1]:
        yield tr(
            "The runs were trained with different versions of your own code: {files}. {folder} of each run has "
            "its own.",
            files=", ".join(several),
            folder="code/",
        )


def _unfinished(row: SeriesScores) -> Iterator[str]:
    runs, name = row.series.runs, row.series.name
    if missing := len(runs) - row.scored:
        yield tr(
            "{name}: {runs} of {total} without a score yet, left out.",
            name=name,
            runs=counted(missing, "run"),
            total=len(runs),
        )
    states = Counter(run.state for run in runs if run.state != "finished")
    if states:
        named = tr(", ").join(
            tr("{count} {state}", count=count, state=outcome.shown(state)) for state, count in states.items()
        )
        yield tr(
            "{name}: {states}; what is there counts, and the last score takes the place of the final one.",
            name=name,
            states=named,
        )
