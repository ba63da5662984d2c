"""Which part of a run with many processes limits its speed, measured while it runs."""

import time
from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from framework.distributed.meter import Meter, Times
from framework.distributed.worker import Report

WINDOW_SECONDS = 10.0
"""That are looked back; more, until each part has been heard of."""
MOST_LOOKS = 1000
FULL = 0.6
"""Busy share from which on a part is the limit."""


class _Look(NamedTuple):
    """How things stood at a moment."""

    at: float
    workers: tuple[Times, ...]
    learners: tuple[Times, ...]
    steps: tuple[int, ...]
    rounds: Times


class Shares(NamedTuple):
    """Of the last seconds, or of the whole run."""

    workers: list[float]
    """Busy share of each."""
    learners: list[float]
    speeds: list[float]
    """Steps per second of each worker."""
    between: float
    """Share of the driver's time that was no part of a round: it evaluated or saved, and workers waited for it."""


class Utilization:
    """Fed with what processes say of themselves; tells of the last seconds."""

    def __init__(self, workers: int, learners: int, turns: bool) -> None:
        self._turns = turns
        """Workers and learners wait for one another."""
        self._workers, self._learners = [Times()] * workers, [Times()] * learners
        self._heard = [Times()] * workers
        """What each worker said last; one that takes another's place begins at 0."""
        self._steps = [0] * workers
        self.rounds = Meter()
        """Of the driver, around each round."""
        self._first = self._look()
        self._looks: deque[_Look] = deque(maxlen=MOST_LOOKS)
        self._late: deque[int] = deque(maxlen=100)
        """Versions by which the weights of a fragment were behind."""
        self._owed: deque[float] = deque(maxlen=100)

    def collected(self, worker: int, report: Report, late: int) -> None:
        """A fragment has been accepted."""
        if not any(self._steps):
            self._first = self._look()
        now, before, total = report.times, self._heard[worker], self._workers[worker]
        if sum(now) < sum(before):
            before = Times()
        self._workers[worker] = Times(total.busy + now.busy - before.busy, total.waited + now.waited - before.waited)
        self._heard[worker] = now
        self._steps[worker] += report.accepted.steps
        self._late.append(late)

    def learned(self, times: list[Times], owed: float) -> None:
        """A chunk has been learned from; so many more wait."""
        self._learners = list(times)
        self._owed.append(owed)

    def _look(self) -> _Look:
        return _Look(
            time.monotonic(), tuple(self._workers), tuple(self._learners), tuple(self._steps), self.rounds.read()
        )

    def shares(self, whole: bool = False, away: Collection[int] = ()) -> Shares | None:
        """Lately or over the whole run; None until a worker has been heard of. away: workers that have died, whose
        successors have not been heard of."""
        now = self._look()
        self._looks.append(now)
        while len(self._looks) > 2 and now.at - self._looks[0].at > WINDOW_SECONDS:
            if not self._heard_since(self._looks[1], away):
                break
            self._looks.popleft()
        then = self._first if whole else self._looks[0]
        past = now.at - then.at
        if past <= 0 or not any(self._steps):
            return None
        return Shares(
            [_share(a, b) for a, b in zip(then.workers, now.workers, strict=True)],
            [_share(a, b) for a, b in zip(then.learners, now.learners, strict=True)],
            [max(0, b - a) / past for a, b in zip(then.steps, now.steps, strict=True)],
            max(0.0, now.rounds.waited - then.rounds.waited) / past,
        )

    def _heard_since(self, look: _Look, away: Collection[int]) -> bool:
        """Everybody who is at work has said something since then: a long piece of work is not taken for idleness."""
        workers = [pair for number, pair in enumerate(zip(self._workers, look.workers, strict=True))
                   if number not in away]  # fmt: skip
        return all(a != b or a == Times() for a, b in (*workers, *zip(self._learners, look.learners, strict=True)))

    def text(self, whole: bool = False, away: Collection[int] = ()) -> tuple[str, str]:
        """For a person: who is busy and what waits; and what would help."""
        found = self.shares(whole, away)
        if found is None:
            return "", ""
        workers, learners, speed, between = found
        late, owed = _mean(self._late), _mean(self._owed)
        return (
            f"workers {_percents(workers)} busy at {_range(speed)} steps/s each, learners {_percents(learners)}; "
            f"{owed:.1f} chunks wait, weights {late:.1f} versions old",
            advice(workers, learners, self._turns, between, bool(away)),
        )


def advice(workers: list[float], learners: list[float], turns: bool, between: float = 0.0, away: bool = False) -> str:
    """What limits the speed, and what would help. turns: workers and learners wait for one another, so that none of
    them can be busy all the time. between: share of the time between rounds. away: others may wait for a worker that
    is not there."""
    collecting, learning = _mean(workers), _mean(learners)
    most = collecting + learning if turns else max(collecting, learning)
    if most < FULL and between >= (1 - most) / 2:
        return (
            f"evaluation and saving take {between:.0%} of the time; a smaller online_eval_episode or a larger "
            "model_save_fre leaves more for training"
        )
    if most < FULL:
        if away:
            return ""
        return "the way between processes is the limit; a larger env_cfg.n_envs or batch sends more at once"
    if learning >= collecting:
        return "learning is the limit; more n_workers would not help, n_learners or a GPU may"
    return "the environment is the limit; more n_workers help where there are cores for them"


def _share(then: Times, now: Times) -> float:
    busy, waited = now.busy - then.busy, now.waited - then.waited
    return busy / (busy + waited) if busy + waited > 0 else 0.0


def _percents(shares: list[float]) -> str:
    """All of a few; of many, the least and the most."""
    if len(shares) > 4:
        ends = f"{min(shares):.0%}", f"{max(shares):.0%}"
        return " to ".join(dict.fromkeys(ends))
    return ", ".join(f"{share:.0%}" for share in shares)


def _range(speeds: list[float]) -> str:
    """One number, where all are about equal."""
    least, most = min(speeds), max(speeds)
    return f"{_mean(speeds):,.0f}" if most <= 1.2 * least else f"{least:,.0f} to {most:,.0f}"


def _mean(numbers: list[float] | deque[int] | deque[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0
