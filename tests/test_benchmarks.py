"""The arithmetic of benchmarks/speed.py; the measurements themselves take minutes and are not run here."""

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import speed
from benchmarks.speed import BenchmarkError, Measure, Workload


def told(*speeds: float) -> Measure:
    """One speed per turn."""
    values: Iterator[float] = iter(speeds)
    return lambda turn: next(values)


def test_the_ratio_is_the_median_over_turns_and_not_the_ratio_of_medians() -> None:
    # the turns give 2, 3 and 1; the medians would give 300 / 100 = 3
    speeds = {"ours": [200.0, 300.0, 400.0], "sb3": [100.0, 100.0, 400.0]}
    assert speed.ratio(speeds, "sb3") == 2.0


def test_a_side_that_was_not_measured_has_no_ratio_and_empty_cells() -> None:
    line = speed.row(Workload("work", 2.0, {}), {"ours": [1500.0], "lean": [1000.0]})
    assert line == "| work | 1,500 /s | 1,000 /s |  | 1.50 |  | 2.0 |"


def test_our_worst_variant_stands_against_their_best() -> None:
    sides = {"ours": [told(90.0), told(40.0)], "sb3": [told(10.0), told(20.0), told(5.0)]}
    speeds = speed.measured(Workload("work", 2.0, sides), ("ours", "lean", "sb3"), repeats=1)
    assert speeds == {"ours": [40.0], "sb3": [20.0]}


def test_the_sides_take_turns() -> None:
    tape: list[str] = []

    def noted(name: str) -> Measure:
        return lambda turn: float(len(tape.append(f"{name}{turn}") or tape))  # type: ignore[func-returns-value]

    speed.measured(Workload("work", 1.0, {"ours": [noted("a")], "sb3": [noted("b")]}), ("ours", "sb3"), repeats=2)
    assert tape == ["a1", "b1", "a2", "b2"]


def test_a_task_that_was_not_solved_is_slower_than_any_that_was() -> None:
    workload = Workload("work", 1.0, {}, solving=True)
    assert speed.row(workload, {"ours": [0.5], "sb3": [0.0]}) == "| work | 2.0 s |  | not solved |  | inf | 1.0 |"
    assert speed.ratio({"ours": [0.5], "sb3": [0.0]}, "sb3") == math.inf
    assert speed.ratio({"ours": [0.0], "sb3": [0.0]}, "sb3") == 0.0


def test_a_side_that_fails_is_named_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"(?s)ended with status 1.*no such thing"):
        speed.output([sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path)


def test_a_missed_goal_is_the_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    def only(theirs: float) -> dict[str, list[Workload]]:
        return {"dqn": [Workload("work", 2.0, {"ours": [told(3.0)], "sb3": [told(theirs)]})]}

    monkeypatch.setattr(speed, "make_peers", lambda: None)
    for theirs, status in ((1.0, 0), (2.0, 1)):
        works = iter([only(theirs), only(theirs)])
        monkeypatch.setattr(speed, "workloads", lambda works=works: next(works))
        assert speed.main(["--peers", "--only", "dqn", "--repeats", "1"]) == status
    assert "| work | 3 /s |  | 2 /s |  | 1.50 | 2.0 |" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--only", "dqn,qdn"], ["--repeats", "0"]])
def test_a_wrong_word_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        speed.main(words)
