"""Decides which trials are trained how far.

A course of tuning is a generator: it yields the legs that come next, and is sent the score of each once all of them are
done. It depends on those scores alone, so that a tuning that was interrupted is repeated from the files of its trials.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

import numpy as np

from framework.archive.trials import Trial
from framework.jobs.search import Settings
from framework.seeding import stream

PBT_RUNGS = 10
"""Parts of the run after each of which population based training compares, unless rungs says otherwise."""
QUARTER = 4
"""The last quarter of a population copies members of the first."""


class Leg(NamedTuple):
    """A part of the training of a trial."""

    trial: Trial
    until: int | None
    """Environment step at which it pauses; None: to the end of the run."""


Scores = Mapping[str, float]
"""Name of a trial -> its score, NaN if it has none yet. A trial that has failed is missing."""
Course = Generator[list[Leg], Scores, None]
Explore = Callable[[Settings, np.random.Generator], Settings]
"""Returns changed settings for a copy of a trial."""


def ranked(trials: Iterable[Trial], scores: Scores, mode: str) -> list[Trial]:
    """Returns the trials that have not failed, best first; of equal ones the first stays first."""
    sign, alive = -1 if mode == "max" else 1, [trial for trial in trials if trial.name in scores]
    return sorted(alive, key=lambda trial: (isnan(scores[trial.name]), sign * scores[trial.name]))


# --------------------------------------------------------------------------------------------------------- rungs


def halving_counts(trials: int, eta: int) -> list[int]:
    """Returns how many trials reach each rung: one of eta goes on, and at last a single one."""
    counts = [trials]
    while counts[-1] > 1:
        counts.append(max(1, counts[-1] // eta))
    return counts


def halving_rungs(trials: int, eta: int, apart: int | None, budget: int | None) -> list[int | None]:
    """Returns the step of each rung; the last one is the end of the run, None. apart: steps between two rungs; None:
    each rung is eta times the one before. budget: steps of the run."""
    last = len(halving_counts(trials, eta)) - 1
    if apart is not None:
        return [apart * (rung + 1) for rung in range(last)] + [None]
    assert budget is not None
    return [max(1, round(budget / eta ** (last - rung))) for rung in range(last)] + [None]


def pbt_rungs(apart: int | None, budget: int) -> list[int | None]:
    """Returns the step of each rung of population based training; the last one is the end of the run, None."""
    apart = apart or max(1, budget // PBT_RUNGS)
    return [*range(apart, budget, apart), None]


# ------------------------------------------------------------------------------------------------------- courses


def whole(trials: Sequence[Trial]) -> Course:
    """Trains every trial to its end."""
    yield [Leg(trial, None) for trial in trials]


def halving(trials: Sequence[Trial], rungs: Sequence[int | None], eta: int, mode: str) -> Course:
    """Trains all trials to the first rung, and one of eta, the best, from each rung to the next. A trial that failed
    takes no other's place."""
    alive = list(trials)
    for until in rungs:
        count = max(1, len(alive) // eta)
        scores = yield [Leg(trial, until) for trial in alive]
        alive = ranked(alive, scores, mode)[:count]


def pbt(trials: Sequence[Trial], rungs: Sequence[int | None], explore: Explore, mode: str, seed: int) -> Course:
    """Population based training. At each rung a member of the last quarter is replaced by a copy of a member of the
    first, with other settings. All copies are made before anyone goes on: a member that goes on may delete the
    checkpoint."""
    members = list(trials)
    for number, until in enumerate(rungs):
        scores = yield [Leg(trial, until) for trial in members]
        order = ranked(members, scores, mode)
        members = [trial for trial in members if trial in order]
        count = max(1, len(order) // QUARTER) if len(order) > 1 else 0
        if until is None or not count:
            continue
        copies = {}
        for place, loser in enumerate(order[-count:]):
            random = stream(seed, "tune copy", number, place)
            parent = order[random.integers(count)]
            copies[loser] = Trial(_next(loser.name), explore(parent.settings, random), parent.name, until)
        scores = yield [Leg(copy, until) for copy in copies.values()]
        failed = [copy for copy in copies.values() if copy.name not in scores]
        members = [copy for trial in members if (copy := copies.get(trial, trial)) not in failed]


def _next(name: str) -> str:
    """Returns the name of the trial that takes the place of another: 007_2 after 007."""
    number, _, life = name.partition("_")
    return f"{number}_{int(life or 1) + 1}"
