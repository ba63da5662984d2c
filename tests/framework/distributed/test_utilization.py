"""Busy shares, and what a run with many processes reports of its speed, from made-up times."""

import math

import pytest

from framework.distributed import utilization
from framework.distributed.utilization import BusyShare, Utilization


class Clock:
    """A clock that a test sets."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(utilization.time, "perf_counter", lambda: self.now)


def worked(clock, share, *times):
    for waited, busy in times:
        clock.now += waited
        with share:
            clock.now += busy


def test_the_wait_before_the_first_task_does_not_count(monkeypatch):
    clock, share = Clock(monkeypatch), BusyShare()
    assert share.share == 0
    worked(clock, share, (50, 2))
    assert (share.share, share.seconds) == (1.0, 2.0)


def test_a_share_is_an_average_weighted_by_time(monkeypatch):
    """2 s of work, then 3 s of which 1 is work: weights (1 - e^-0.2) e^-0.3 and 1 - e^-0.3, shares 1 and 1/3."""
    clock, share = Clock(monkeypatch), BusyShare()
    worked(clock, share, (9, 2), (2, 1))
    first, second = (1 - math.exp(-0.2)) * math.exp(-0.3), 1 - math.exp(-0.3)
    assert share.share == pytest.approx((first + second / 3) / (first + second))
    assert share.seconds == 1.0


def test_what_is_long_ago_is_forgotten(monkeypatch):
    clock, share = Clock(monkeypatch), BusyShare()
    worked(clock, share, *[(1, 0)] * 60, *[(0, 1)] * 60)
    assert share.share > 0.99


def test_one_long_task_counts_as_much_as_many_short_ones(monkeypatch):
    shares = []
    for tasks in ([(0, 60)], [(0, 1)] * 60):
        clock, share = Clock(monkeypatch), BusyShare()
        worked(clock, share, (0, 1), *[(1, 0)] * 30, *tasks)
        shares.append(share.share)
    assert shares[0] == pytest.approx(shares[1])


def test_work_that_fails_was_work(monkeypatch):
    clock, share = Clock(monkeypatch), BusyShare()

    def fail():
        with share:
            clock.now += 2
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (share.share, share.seconds) == (1.0, 2.0)


def used(workers, learners, lockstep=False, rounds=1.0):
    found = Utilization(len(workers), len(learners), lockstep)
    for number, busy in enumerate(workers):
        found.collected(number, busy, 0)
    found.learned(learners, 0.0)
    found.rounds.share = rounds
    return found


@pytest.mark.parametrize(
    ("workers", "learners", "rounds", "limit"),
    [
        ([0.9, 0.8], [0.3], 1.0, "workers"),
        ([0.2, 0.3], [0.95], 1.0, "learner"),
        ([0.9], [0.9], 1.0, "learner"),
        ([0.3, 0.2], [0.4, 0.3], 1.0, "communication"),
        ([0.3], [0.1], 0.6, "evaluation and saving"),  # of the 0.7 in which no part worked, more than half
        ([0.3], [0.1], 0.7, "communication"),
        ([0.9], [0.1], 0.4, "workers"),
    ],
)
def test_the_limit_is_the_part_that_is_busy(workers, learners, rounds, limit):
    assert used(workers, learners, rounds=rounds).text()[1].startswith(f"{limit};")


def test_in_lockstep_workers_and_learners_share_the_time():
    assert used([0.35], [0.3]).text()[1].startswith("communication")
    assert used([0.35], [0.3], lockstep=True).text()[1].startswith("workers")


def test_a_line_names_all_parts_the_backlog_and_the_age_of_weights():
    found = Utilization(5, 2, lockstep=False)
    assert found.text() == ("", "")
    for worker in range(5):
        found.collected(worker, 0.1 + 0.2 * worker, 10)
    found.learned([0.25, 0.5], 5.0)
    # 5 fragments of age 10: 10 (1 - 0.9^5); one chunk with 5 waiting: 0.5
    assert found.text()[0] == "workers 10% to 90% busy, learners 25%, 50%; 0.5 chunks wait, weights 4.1 versions old"


def test_the_limit_fits_into_a_line_of_80_columns():
    for workers, learners, rounds in (([1.0], [0.0], 1), ([0.0], [1.0], 1), ([0.0], [0.0], 1), ([0.0], [0.0], 0)):
        assert len(used(workers, learners, rounds=rounds).text()[1]) <= 70
