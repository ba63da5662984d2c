"""What a run with many processes says of its speed, from made-up times."""

from types import SimpleNamespace

import pytest

from framework.distributed import meter, utilization
from framework.distributed.meter import Meter, Times
from framework.distributed.utilization import Utilization, advice


class Clock:
    """Stands where a test puts it."""

    def __init__(self, monkeypatch, module, name):
        self.now = 100.0
        monkeypatch.setattr(module.time, name, lambda: self.now)


def collected(of, worker, busy, waited, steps, late=0):
    report = SimpleNamespace(times=Times(busy, waited), accepted=SimpleNamespace(steps=steps))
    of.collected(worker, report, late)


# ------------------------------------------------------------------------------------------------------- meter


def test_a_meter_tells_work_from_what_lies_between(monkeypatch):
    """Two seconds of work, three of waiting, one of work; the time before the first work belongs to nobody."""
    clock, watch = Clock(monkeypatch, meter, "perf_counter"), Meter()
    assert watch.read() == Times(0.0, 0.0)
    for waited, worked in ((50, 2), (3, 1)):
        clock.now += waited
        with watch:
            clock.now += worked
    assert watch.read() == Times(3.0, 3.0)


def test_a_meter_that_is_read_within_the_work_knows_what_was_before(monkeypatch):
    clock, watch = Clock(monkeypatch, meter, "perf_counter"), Meter()
    with watch:
        clock.now += 4
    clock.now += 1
    with watch:
        clock.now += 8
        assert watch.read() == Times(4.0, 1.0)


def test_work_that_fails_was_work(monkeypatch):
    clock, watch = Clock(monkeypatch, meter, "perf_counter"), Meter()

    def fail():
        with watch:
            clock.now += 2
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert watch.read() == Times(2.0, 0.0)


# ------------------------------------------------------------------------------------------------------ utilization


def test_shares_are_of_the_time_since_the_first_look(monkeypatch):
    """Worker 0: 3 s of work and 1 of waiting; worker 1: nothing but work; the learner: 1 s of 4. In 4 s, 80 and 40
    steps."""
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(2, 1, turns=False)
    collected(gauge, 0, 10.0, 10.0, 500)
    collected(gauge, 1, 7.0, 9.0, 500)
    gauge.learned([Times(5.0, 5.0)], 1)
    assert gauge.shares() is None
    clock.now += 4
    collected(gauge, 0, 12.0, 10.5, 50)
    collected(gauge, 0, 13.0, 11.0, 30)
    collected(gauge, 1, 11.0, 9.0, 40)
    gauge.learned([Times(6.0, 8.0)], 3)
    assert gauge.shares() == ([0.75, 1.0], [0.25], [20.0, 10.0], 0.0)


def test_what_is_long_ago_is_forgotten(monkeypatch):
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(1, 1, turns=False)
    gauge.shares()
    for busy in range(1, 31):  # at first the worker waits all the time, and then it works all the time
        clock.now += 1
        collected(gauge, 0, max(0, busy - 15), min(busy, 15), 10)
        found = gauge.shares()
    assert found[0] == [1.0]
    assert found[2] == [10.0]


def test_who_was_not_heard_of_has_done_nothing(monkeypatch):
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(2, 1, turns=False)
    gauge.shares()
    clock.now += 2
    collected(gauge, 1, 1.0, 1.0, 6)
    assert gauge.shares() == ([0.0, 0.5], [0.0], [0.0, 3.0], 0.0)


def test_a_worker_that_was_replaced_counts_its_times_from_0_again(monkeypatch):
    """Its clock went back: its share is that of the new one, and no number outside of 0 to 1."""
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(1, 1, turns=False)
    collected(gauge, 0, 50.0, 10.0, 5)
    gauge.shares()
    clock.now += 4
    collected(gauge, 0, 3.0, 1.0, 5)
    assert gauge.shares()[0] == [0.75]


@pytest.mark.parametrize(
    ("workers", "learners", "said"),
    [
        ([0.9, 0.8], [0.3], "the environment is the limit; more n_workers"),
        ([0.2, 0.3], [0.95], "learning is the limit; more n_workers would not help"),
        ([0.9], [0.9], "learning is the limit"),
        ([0.3, 0.2], [0.4, 0.3], "the way between processes is the limit"),
        ([0.5, 0.59], [0.1], "the way between processes is the limit"),
        ([], [], "the way between processes is the limit"),
    ],
)
def test_advice_follows_who_is_busy(workers, learners, said):
    assert advice(workers, learners, turns=False).startswith(said)


def test_a_line_says_who_is_busy_what_waits_and_how_old_the_weights_are(monkeypatch):
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(5, 2, turns=False)
    assert gauge.text() == ("", "")
    clock.now += 2
    for worker in range(5):
        collected(gauge, worker, 1.8, 0.2, 4000, late=worker)
    gauge.learned([Times(0.5, 1.5), Times(1.0, 1.0)], 1)
    gauge.learned([Times(0.5, 1.5), Times(1.0, 1.0)], 2)
    assert gauge.text() == (
        "workers 90% busy at 2,000 steps/s each, learners 25%, 50%; 1.5 chunks wait, weights 2.0 versions old",
        "the environment is the limit; more n_workers help where there are cores for them",
    )


def test_a_line_of_many_names_the_slowest_and_the_fastest(monkeypatch):
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(6, 1, turns=False)
    gauge.text()
    clock.now += 2
    for worker in range(6):
        collected(gauge, worker, 0.2 + 0.2 * worker, 1.8 - 0.2 * worker, 100 * (worker + 1))
    assert gauge.text()[0].startswith("workers 10% to 60% busy at 50 to 300 steps/s each")


def test_a_long_piece_of_work_is_not_taken_for_idleness(monkeypatch):
    """A fragment of a minute, all of it work, looked at each second."""
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(1, 1, turns=False)
    for minute in range(1, 4):
        for _ in range(60):
            clock.now += 1
            found = gauge.shares()
        collected(gauge, 0, 60.0 * minute, 0.0, 6000)
        assert found is None or found[0] == [1.0]
    clock.now += 30
    assert gauge.shares()[0] == [1.0]


def test_a_worker_that_is_away_does_nothing(monkeypatch):
    """It was busy all the time until it died; nobody waits for its word."""
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(2, 1, turns=False)
    for second in range(1, 26):
        clock.now += 1
        for worker in (0, 1) if second <= 10 else (0,):
            collected(gauge, worker, float(second), 0.0, 10)
        found = gauge.shares(away=[1] if second > 10 else [])
    assert found.workers == [1.0, 0.0]
    assert found.speeds == [10.0, 0.0]


def test_the_time_between_rounds_is_evaluation_and_saving(monkeypatch):
    """Rounds of 2 s, in which the worker is busy for 1 s, and 3 s after each: 10 rounds in 50 s, of which 27 are
    between the first and the last."""
    clock, gauge = Clock(monkeypatch, utilization, "monotonic"), Utilization(1, 1, turns=False)
    rounds = Clock(monkeypatch, meter, "perf_counter")
    for number in range(1, 11):
        with gauge.rounds:
            clock.now, rounds.now = clock.now + 2, rounds.now + 2
            collected(gauge, 0, float(number), 4.0 * number, 10)
        last = gauge.text(whole=True)[1]
        clock.now, rounds.now = clock.now + 3, rounds.now + 3
    # looked back at from 5 * 9 + 2 = 47 s; the first fragment came 2 s after the beginning
    assert last.startswith("evaluation and saving take 60% of the time; a smaller online_eval_episode")  # 27 / 45


@pytest.mark.parametrize(
    ("between", "away", "said"),
    [
        (0.4, False, "evaluation and saving take 40% of the time"),  # of the 0.7 in which nobody worked, more than half
        (0.3, False, "the way between processes is the limit"),
        (0.3, True, ""),
    ],
)
def test_nothing_is_said_of_the_way_between_processes_where_something_else_keeps_them_waiting(between, away, said):
    advised = advice([0.3], [0.1], False, between, away)
    assert advised.startswith(said)
    assert bool(advised) == bool(said)
