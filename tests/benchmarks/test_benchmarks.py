"""What benchmarks/ calculates and writes. The measurements take minutes to hours; only a tiny one is made here."""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import (
    automatic,
    bottleneck,
    data_layer,
    learning,
    learning_curves,
    learning_page,
    learning_plan,
    speed,
    speed_page,
)
from benchmarks.learning_page import Row
from benchmarks.speed import BenchmarkError, Measure, Speed, Workload
from framework.disk.csv_table import read_csv
from framework.seeding import number
from tests.tools.process import Forked, fork_runs


def told(*speeds: float) -> Measure:
    """One speed per turn."""
    values: Iterator[float] = iter(speeds)
    return lambda turn: next(values)


def one(speeds: dict[str, list[float]], **facts: Any) -> dict[str, Any]:
    """Returns a measurement of some work."""
    return speed.measurement(Workload("work", **{"goal": 2.0, "sides": {}, **facts}), speeds, "here", "cpu")


def test_the_ratio_is_the_median_over_turns_and_not_the_ratio_of_medians() -> None:
    # the turns give 2, 3 and 1; the medians would give 300 / 100 = 3
    speeds = {"ours": [200.0, 300.0, 400.0], "sb3": [100.0, 100.0, 400.0]}
    assert speed_page.ratio(one(speeds), "sb3") == 2.0


def test_a_side_that_was_not_measured_has_no_ratio_and_empty_cells() -> None:
    line = speed_page.row(one({"ours": [1500.0], "lean": [1000.0]}))
    assert line == "| work | 1 | 1,500 /s |  |  | 1,000 /s (1.50) |  |  |  |  |  |  |  |  | 2.0 |"


def test_the_seconds_before_steady_training_have_a_table_of_their_own() -> None:
    measured = Speed(100.0)
    measured.first = 12.34
    tables = speed_page.tables([one({"ours": [measured], "sb3": [50.0]})])
    assert "| work | 12.3 |  |  |  |" in tables
    assert "seconds before" not in speed_page.tables([one({"ours": [100.0], "sb3": [50.0]})])


def test_a_work_measured_again_takes_the_place_of_the_earlier_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed_page, "RESULTS", tmp_path / "speed.json")
    for kind, ours in (("cpu", 1.0), ("cuda", 2.0), ("cpu", 3.0)):
        speed_page.record([{**one({"ours": [ours]}), "kind": kind}])
    assert [each["speeds"]["ours"] for each in speed_page.read()] == [[2.0], [3.0]]


def test_the_picture_has_a_bar_for_each_framework() -> None:
    image = speed_page.picture([one({"ours": [200.0], "sb3": [100.0], "floor": [400.0]})])
    assert image.count("<rect") == 2
    assert "100 /s, 0.50 of ours" in image


def test_the_page_has_the_ratios_of_all_measurements_and_misses_are_bold() -> None:
    assert speed_page.ratios(speed_page.read()) in speed_page.PAGE.read_text(encoding="utf-8")
    measured = one({"ours": [60.0], "sb3": [20.0], "fast": [130.0]}, share=0.5)
    slower = {**one({"ours": [19.0], "sb3": [10.0]}, threads=0), "kind": "cpu"}
    lines = speed_page.ratios([measured, slower]).splitlines()
    assert lines[2:] == ["| work | 2.0; 0.50 | 3.00; **0.46** | **1.90** |  |  |  |"]


def test_our_worst_variant_stands_against_their_best() -> None:
    sides = {"ours": [told(90.0), told(40.0)], "sb3": [told(10.0), told(20.0), told(5.0)]}
    speeds = speed.measured(Workload("work", 2.0, sides), ("ours", "lean", "sb3"), repeats=1)
    assert speeds == {"ours": [40.0], "sb3": [20.0]}


def test_a_share_of_the_floor_is_a_goal_too() -> None:
    for least, missed in ((100.0, False), (130.0, True)):
        measured = one({"ours": [60.0], "sb3": [20.0], "fast": [least]}, share=0.5, threads=0)
        assert speed.is_missed(measured) is missed
    assert speed_page.row(measured).endswith("| 130 /s (0.46) |  | 2.0, 0.5 of our floor |")
    assert "| own |" in speed_page.row(measured)


@pytest.mark.parametrize("threads", [0, 1])
def test_every_workload_has_our_side_and_a_peer(threads: int) -> None:
    for name, works in speed.workloads(threads).items():
        for work in works:
            assert {"ours", "sb3"} <= work.sides.keys(), name


def test_the_sides_take_turns() -> None:
    tape: list[str] = []

    def noted(name: str) -> Measure:
        return lambda turn: float(len(tape.append(f"{name}{turn}") or tape))  # type: ignore[func-returns-value]

    speed.measured(Workload("work", 1.0, {"ours": [noted("a")], "sb3": [noted("b")]}), ("ours", "sb3"), repeats=2)
    assert tape == ["a1", "b1", "a2", "b2"]


def test_a_task_that_was_not_solved_is_slower_than_any_that_was() -> None:
    line = speed_page.row(one({"ours": [0.5], "sb3": [0.0]}, solving=True))
    assert line == "| work | 1 | 2.0 s |  |  |  | not solved (inf) |  |  |  |  |  |  |  | 2.0 |"
    assert speed_page.ratio(one({"ours": [0.5], "sb3": [0.0]}), "sb3") == math.inf
    assert speed_page.ratio(one({"ours": [0.0], "sb3": [0.0]}), "sb3") == 0.0


def test_a_side_that_fails_is_named_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"(?s)ended with status 1.*no such thing"):
        speed.output([sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path)


def test_a_missed_goal_is_the_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    def only(theirs: float) -> dict[str, list[Workload]]:
        return {"dqn": [Workload("work", 2.0, {"ours": [told(3.0)], "sb3": [told(theirs)]})]}

    monkeypatch.setattr(speed, "make_peers", lambda sides: None)
    for theirs, status in ((1.0, 0), (2.0, 1)):
        works = iter([only(theirs), only(theirs)])
        monkeypatch.setattr(speed, "workloads", lambda threads=1, device="cpu", works=works: next(works))
        assert speed.main(["--peers", "--only", "dqn", "--repeats", "1"]) == status
    assert "| work | 1 | 3 /s |  |  |  | 2 /s (1.50) |  |  |  |  |  |  |  | 2.0 |" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--only", "dqn,qdn"], ["--repeats", "0"], ["--threads", "2"], ["--sides", "sb3"]])
def test_a_wrong_word_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        speed.main(words)


# learning.py ----------------------------------------------------------------------------------------------

SOURCES = {"zoo": {"title": "A zoo", "url": "https://example.org", "kind": "evaluation", "runs": 1}}
CONTENT = {"sources": SOURCES, "families": {"both": ["B", "C", "D"]}}
TOY_PRESET = """
general_cfg:
  {algo_name: QLearning, env_name: toy, max_episode: 300, online_eval: true, model_save_fre: 100, save_fig: false}
algo_cfg: {lr: 0.5}
env_cfg: {id: shifted}
"""


ENGLISH = learning_page.words_of("en")


def entry(**values: object) -> dict[str, object]:
    """An entry of learning.json."""
    known = {
        "date": "2026-01-31", "commit": "0123456789" * 4 + "+", "machine": "a CPU, 2 cores",
        "command": "--yaml A.yaml", "at_once": 2, "seeds": [1, 2, 3], "steps": [1000, 2000, 3000],
        "seconds": [10.0, 20.0, 33.0], "episodes": 100,
        "best": [500.0, 490.0, 480.0], "last": [500.0, 400.0, 300.0], "random": 22.25,
    }  # fmt: skip
    return {**known, **values}


def test_a_row_shows_what_was_measured_beside_what_was_published() -> None:
    """Mean of 500, 490, 480 is 490; so is the interquartile mean, (480 / 4 + 490 + 500 / 4) / 1.5; a resample of
    three values is three times the same one with probability 1/27 > 0.025, so the interval is the range."""
    row = Row("CartPole-v1", "DQN", goal=495, published=500, steps="50k", version="CartPole-v0", source="zoo")
    mine = ["2,000", "1, 2, 3", "**490**", "490 [480, 500]", "400", "21 s, 2 at once", "22.25", "495, missed"]
    theirs = ["500", "[zoo](#sources), CartPole-v0, 50k steps"]
    assert learning_page.cells(row, entry(), SOURCES, ENGLISH) == ["CartPole-v1", "DQN", *mine, *theirs]
    reached = learning_page.cells(Row("CartPole-v1", "DQN", goal=490), entry(), SOURCES, ENGLISH)
    assert reached[9:] == ["490, reached", "", ""]


def test_the_last_models_count_where_nothing_was_collected() -> None:
    """A choice by online evaluations needs the environment, which a run from data alone does without."""
    row = Row("CartPole-v1", "BC", goal=450)
    alone = learning_page.cells(row, entry(steps=[0, 0, 0]), SOURCES, ENGLISH)
    assert alone[4:7] == ["490", "400 [300, 500]", "**400**"]
    assert alone[9] == "450, missed"
    assert learning_page.cells(row, entry(), SOURCES, ENGLISH)[9] == "450, reached"


def test_the_data_of_a_row_are_collected_if_they_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder of data has commands, of files that exist, and the last one writes it."""
    table, named = learning_page.table()["data"], {row.data for row in learning_page.rows() if row.data}
    assert named == set(table)
    for index, (folder, commands) in enumerate(table.items()):
        (tmp_path / str(index)).mkdir()
        monkeypatch.chdir(tmp_path / str(index))  # what one needs may be the data of another
        assert commands[-1].split()[-2:] == ["--into", folder]
        files = [words[words.index("--yaml") + 1] for words in map(str.split, commands) if "--yaml" in words]
        assert all((learning_page.ROOT / file).exists() for file in files)
        row = Row("A", "B", data=folder)
        assert learning_page.collecting(row) == [command.split() for command in commands]
        *before, last = [command.split() for command in commands]
        for words in before:
            (Path(words[-1]) / "models" / "500").mkdir(parents=True)
            (Path(words[-1]) / "run.json").write_text('{"outcome": "interrupted"}')
        assert learning_page.collecting(row) == [*(["resume", words[-1]] for words in before), last]
        for words in before:
            (Path(words[-1]) / "run.json").write_text('{"finished": true}')
        assert learning_page.collecting(row) == [last]
        Path(folder).mkdir(parents=True)
        assert learning_page.collecting(row) == []


def test_a_row_notes_the_mean_score_of_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = Row("CartPole-v1", "BC", data="medium")
    assert learning.data_score(row) == learning.data_score(Row("CartPole-v1", "PPO")) == {}
    Path("medium/results").mkdir(parents=True)
    Path("medium/results/test.csv").write_text("episode,return\n1,100\n2,150\n", encoding="utf-8")
    assert learning.data_score(row) == {"data": 125.0}
    assert learning_page.cells(row, entry(**learning.data_score(row)), SOURCES, ENGLISH)[8] == "22.25; data 125"
    assert learning_page.cells(row, entry(), SOURCES, ENGLISH)[8] == "22.25"


def test_one_seed_has_no_interval_and_what_was_not_measured_is_empty() -> None:
    alone = entry(seeds=[4], best=[7.0], last=[6.0], steps=[10], seconds=[1.0], at_once=1)
    shown = ["10", "4", "**7**", "", "6", "1 s, 1 at once", "22.25"]
    assert learning_page.cells(Row("A", "B"), alone, {}, ENGLISH)[2:9] == shown
    assert learning_page.cells(Row("A", "B", goal=3), None, {}, ENGLISH) == ["A", "B", *[""] * 7, "3", "", ""]
    with pytest.raises(learning_page.BenchmarkError, match="there is no source 'zo'"):
        learning_page.cells(Row("A", "B", published=1.0, source="zo"), None, SOURCES, ENGLISH)


def test_the_page_says_when_and_where_and_from_which_sources() -> None:
    text = learning_page.page([Row("A-v1", "B"), Row("C-v1", "D")], {"A-v1/B": entry()}, CONTENT, ENGLISH)
    assert "| A-v1/B | 2026-01-31 | 0123456789+ | a CPU, 2 cores | 100 | `--yaml A.yaml` |" in text
    assert "| C-v1/D" not in text
    assert "- **zoo**: [A zoo](https://example.org): evaluation; one run each." in text


@pytest.mark.parametrize("letters", learning.PAGES)
def test_the_page_of_what_was_learned_is_current(letters: str) -> None:
    words = learning_page.words_of(letters)
    fresh = learning_page.page(learning_page.rows(), learning.read_results(), learning_page.table(), words)
    page = learning.PAGES[letters].read_text(encoding="utf-8")
    assert page == fresh, "write it anew: python benchmarks/learning.py --page"


def test_the_chinese_page_has_a_word_for_each_name_and_sentence_of_the_rows() -> None:
    content, rows = learning_page.table(), learning_page.rows()
    english = {
        *content["families"], *(source["kind"] for source in content["sources"].values()),
        *(row.below for row in rows if row.below), *(row.env for row in rows if " " in row.env),
    }  # fmt: skip
    assert english == set(learning_page.words_of("zh").translations)
    assert learning_page.words_of("zh").forms.keys() == ENGLISH.forms.keys()


def test_a_preset_that_was_measured_whole_has_no_short_row_beside_it() -> None:
    results, rows = learning.read_results(), learning_page.rows()
    whole = {(row.env, row.algo, row.file()) for row in rows if not row.short and row.name in results}
    assert [row.name for row in rows if row.short and (row.env, row.algo, row.file()) in whole] == []


def test_the_picture_of_what_was_learned_is_current() -> None:
    panels, curves = learning_page.table()["panels"], learning_curves.read()
    fresh = learning_curves.picture(panels, curves)
    assert learning_curves.PICTURE.read_text(encoding="utf-8") == fresh, "python benchmarks/learning.py --page"
    names = {row.name for row in learning_page.rows()}
    assert names >= {*curves, *(row for panel in panels for row in panel["rows"].values())}


def test_each_algorithm_of_a_row_is_in_one_family_of_the_summary() -> None:
    members = [algo for algos in learning_page.table()["families"].values() for algo in algos]
    assert len(members) == len(set(members))
    assert {row.algo for row in learning_page.rows() if not row.short} <= set(members)


def test_the_summary_counts_goals_and_published_values() -> None:
    """Three measured rows of means 490, 490 and 0; the last models count where nothing was collected."""
    rows = [
        Row("A", "B", goal=490, published=500, source="zoo"), Row("A", "C", goal=491, published=490, source="zoo"),
        Row("A", "D", goal=400), Row("A", "B", short=True), Row("X", "B"),
    ]  # fmt: skip
    results = {"A/B": entry(), "A/C": entry(), "A/D": entry(steps=[0, 0, 0]), "A/B, short": entry()}
    [*_, line] = learning_page.summary(rows, results, CONTENT["families"], ENGLISH)
    assert line == "| both | 3 of 4 | 2 of 3 | 1 of 2 | B on A |"


def test_a_row_below_its_goal_or_the_published_number_says_why_and_no_other_one_does() -> None:
    """Scores of 480, 490 and 500 beside a goal of 495, an optimum of 500 and another's 490."""
    below, optimum, reached = (
        Row("A", "B", goal=495, steps="1M", below="Half of their steps"),
        Row("A", "C", published=500, source="optimum"),
        Row("A", "D", goal=400, published=490, source="zoo"),
    )
    measured = entry(best=[480.0, 490.0, 500.0], steps=[500, 500, 500])
    assert [learning_page.is_below(row, measured) for row in (below, optimum, reached)] == [True, False, False]
    line = ["A/B", "480, 490, 500", "495", "", "1 of 3", "500, 1M", "Half of their steps"]
    assert learning_page.below_cells(below, measured, ENGLISH) == line
    results = learning.read_results()
    rows = [row for row in learning_page.rows() if not row.short]
    wrong = [
        row.name for row in rows
        if bool(row.below) != (row.name in results and learning_page.is_below(row, results[row.name]))
    ]  # fmt: skip
    assert not wrong, "benchmarks/learning.yaml: the cause of what is below stands in `below`, and only there"


def test_a_curve_is_the_mean_of_the_seeds_where_one_that_stopped_keeps_its_score(tmp_path: Path) -> None:
    """Seed 1 rises from 0 to 10 in 100 steps and stops, seed 2 from 0 to 4 in 200: in the middle 10 and 2."""
    steps, scores = learning_curves.mean_of([[[0, 100], [0, 10]], [[0, 200], [0, 4]]])
    middle = len(steps) // 2
    assert steps[[0, -1]].tolist() == [0, 200]
    at = scores[middle].tolist()
    assert at == [10.0, pytest.approx(steps[middle] / 50)]
    (tmp_path / "results").mkdir()
    lines = "".join(f"{step},{step / 3}\n" for step in range(1000))
    (tmp_path / "results" / "eval.csv").write_text(f"step,mean\n{lines}")
    kept, means = learning_curves.curve_of(tmp_path)
    assert (len(kept), kept[-1], means[-1]) == (learning_curves.MOST_POINTS, 999, 333)
    svg = learning_curves.picture([{"title": "A < B", "rows": {"one": "A/B"}}], {"A/B": [[[0, 100], [0, 10]]]})
    assert "A &lt; B" in svg
    assert 'class="line c0" d="M64.0 266.0L' in svg, "the first point is the lower left corner of the axes"
    assert "L456.0 66.0" in svg, "the last one is the upper right corner"


def test_the_presets_are_those_that_were_measured() -> None:
    """Who changes a preset that the page shows measures its row again."""
    results = learning.read_results()
    changed = [
        row.name for row in learning_page.rows()
        if row.name in results and results[row.name]["settings"] != row.settings()
    ]  # fmt: skip
    assert not changed


def test_the_table_of_what_algo_auto_learns_is_that_of_the_rows() -> None:
    results = json.loads(automatic.RESULTS.read_text(encoding="utf-8"))
    assert f"\n{automatic.table(results)}\n" in (automatic.ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def test_a_goal_is_not_reached_with_fewer_seeds_and_the_random_policy_is_that_of_the_environment() -> None:
    few = entry(seeds=[1], best=[500.0])
    assert learning_page.cells(Row("A", "B", goal=490), few, {}, ENGLISH)[9] == "490, too few seeds"
    assert learning_page.cells(Row("A", "B", goal=490, seeds=1), few, {}, ENGLISH)[9] == "490, reached"
    text = learning_page.page([Row("A-v1", "B"), Row("A-v1", "C")], {"A-v1/B": entry()}, CONTENT, ENGLISH)
    assert "| A-v1 | C |  |  |  |  |  |  | 22.25 |" in text


def test_rows_are_named_once_and_chosen_by_environment_algorithm_or_both() -> None:
    names = [row.name for row in learning_page.rows()]
    assert len(names) == len(set(names))
    found = [row.name for row in learning_page.chosen(["acrobot-v1/dqn", "MountainCar-v0"])]
    assert found[:2] == ["Acrobot-v1/DQN", "MountainCar-v0/DQN"]
    assert {row.algo for row in learning_page.chosen(["PPO"])} == {"PPO"}
    with pytest.raises(learning_page.BenchmarkError, match="Acrobat-v1 is not a row"):
        learning_page.chosen(["Acrobat-v1"])


def test_a_row_is_measured_with_its_own_preset_or_that_of_its_family() -> None:
    assert Row("Hopper-v5", "SAC").command()[2:] == ["env_cfg.id=Hopper-v5"]
    assert Row("Acrobot-v1", "DQN", words=("algo_cfg.lr=1",)).command()[2:] == ["algo_cfg.lr=1"]
    for row in (Row("Nothing-v0", "DQN"), Row("Acrobot-v1", "DQN", preset="none/DQN.yaml")):
        with pytest.raises(learning_page.BenchmarkError, match="has no preset yet"):
            row.command()


class Until(Forked):
    """A forked main.py that is waited for as a process of subprocess is."""

    def wait(self, seconds: float | None = None) -> int:
        return super().wait()

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def forking(process: Callable[[list[str], object], Until]) -> SimpleNamespace:
    """Returns a subprocess for learning.py."""
    return SimpleNamespace(Popen=process, DEVNULL=None, TimeoutExpired=subprocess.TimeoutExpired)


def test_a_tiny_row_is_trained_tested_and_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy gives 1 to who repeats the number that it shows, of three: at random a third of that."""
    (tmp_path / "toy.yaml").write_text(TOY_PRESET)
    row = f"{{env: shifted, algo: QLearning, goal: 1, preset: {tmp_path / 'toy.yaml'}}}"
    (tmp_path / "learning.yaml").write_text(
        f"sources: {{}}\nfamilies: {{}}\npanels: []\nrows:\n- {row}\n- {{env: shifted, algo: DQN}}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(learning_page, "TABLE", tmp_path / "learning.yaml")
    monkeypatch.setattr(learning, "RESULTS", tmp_path / "learning.json")
    monkeypatch.setattr(learning, "PAGES", {"en": tmp_path / "learning.md"})
    monkeypatch.setattr(learning_curves, "RESULTS", tmp_path / "curves.json")
    monkeypatch.setattr(learning_curves, "PICTURE", tmp_path / "learning.svg")
    fork_runs(monkeypatch)
    monkeypatch.setattr(learning, "subprocess", forking(lambda command, stdout: Until(*command[2:])))
    assert learning.main(["shifted", "--seeds", "5"]) == 2, "the second row has no preset"
    known = json.loads((tmp_path / "learning.json").read_text())["shifted/QLearning"]
    assert (known["seeds"], known["steps"], known["episodes"]) == ([5], [300], 100)
    assert known["best"] == known["last"] == [1.0]
    assert 0.2 < known["random"] < 0.5
    starts = [row["seed"] for path in Path("tasks").glob("*/test_*_best_*/results/test.csv") for row in read_csv(path)]
    assert len(set(starts)) == 100, "every episode has a start of its own"
    assert "| 300 | 5 | **1** |  | 1 |" in (tmp_path / "learning.md").read_text()
    [(row_name, [(steps, scores)])] = learning_curves.read().items()
    assert (row_name, len(steps), scores[-1]) == ("shifted/QLearning", 3, 1)


def test_the_cheapest_empty_row_comes_first_as_fast_as_the_nearest_measured_one() -> None:
    """1,000,000 steps x 3 at 1,000 steps/s of the same row, shorter, are 3,000 s, not 30,000 s at the speed of
    another task or 6,000 s at that of another algorithm."""
    measured = {
        "Hopper-v5/PPO, short": {"steps": [20_000], "seconds": [20.0]},
        "Pendulum-v1/PPO": {"steps": [1000, 1000], "seconds": [10.0, 10.0]},
        "Hopper-v5/SAC": {"steps": [5000], "seconds": [10.0]},
        "Hopper-v5/BC": {"steps": [0], "seconds": [10.0]},
    }
    rows = [Row("Walker2d-v5", "PPO"), Row("Nothing-v0", "PPO"), Row("Hopper-v5", "PPO"), Row("Taxi-v4", "QLearning")]
    hopper, walker, taxi = learning_plan.estimates(rows, measured)
    assert hopper == (rows[2], 1_000_000, 3000.0, "Hopper-v5/PPO, short", True)
    assert (walker.row, walker.seconds, walker.by) == (rows[0], 30_000.0, "Pendulum-v1/PPO")
    assert not walker.is_alike, "Walker2d may be slower than Pendulum"
    assert learning.plan([walker]).splitlines()[0].endswith("if as fast as Pendulum-v1/PPO")
    assert (taxi.seconds, taxi.by) == (None, "")
    assert learning.plan([hopper, taxi]).endswith("2 rows, 50:00 for 1 of them, one run after the other")


def test_a_row_is_stale_if_its_settings_or_its_code_changed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {("algos/dqn", "algos/common"): 2, ("framework/memory",): 0, ("framework/loop", "framework/collect"): 1}
    asked = []

    def commits_since(commit: str, folders: list[str]) -> int:
        asked.append(commit)
        return counts[tuple(folders)]

    monkeypatch.setattr(learning_plan, "commits_since", commits_since)
    row, commit = Row("CartPole-v1", "DQN"), "a" * 40
    entry = {"settings": row.settings(), "commit": f"{commit}+"}
    assert list(learning_plan.stale(row, entry)) == ["algorithm: 2 commits", "loop: 1 commits"]
    assert set(asked) == {commit}
    assert next(learning_plan.stale(row, {**entry, "settings": "another"})) == "settings"
    monkeypatch.setattr(learning_plan, "commits_since", lambda commit, folders: None)
    assert list(learning_plan.stale(row, entry)) == ["commit aaaaaaaaaa is not in this clone"]


def test_a_row_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over at the first checkpoint, and the run stops as by Ctrl-C; the next call resumes the group."""
    (tmp_path / "toy.yaml").write_text(TOY_PRESET.replace("300", "3000"))
    row, calls = Row("shifted", "QLearning", preset=str(tmp_path / "toy.yaml")), []
    monkeypatch.chdir(tmp_path)

    class Process(Until):
        def __init__(self, command: list[str], stdout: object) -> None:
            calls.append(command[2])
            super().__init__(*command[2:])

        def wait(self, seconds: float | None = None) -> int:
            if seconds is None:
                return super().wait()
            while not any(Path("tasks").glob("*/seed_5/models/100/*")) and self.poll() is None:
                time.sleep(0.01)
            raise subprocess.TimeoutExpired("main.py", seconds)

    fork_runs(monkeypatch)
    monkeypatch.setattr(learning, "subprocess", forking(Process))
    with pytest.raises(learning.StoppedError):
        learning.Measurement("5", until=0.0).entry(row)
    entry, [curve] = learning.Measurement("5").entry(row)
    assert (entry["steps"], entry["best"]) == ([3000], [1.0])
    assert curve[0] == sorted(curve[0])
    assert curve[1][-1] == 1.0
    assert calls == ["--yaml", "resume", "general_cfg.mode=test", "general_cfg.mode=test"]
    assert learning.Measurement("5").entry(row) == (entry, [curve])
    assert len(calls) == 4, "what is done is not done again"


def test_the_starts_of_the_test_are_not_those_of_the_run() -> None:
    """So that what chose the best model says nothing of how it is scored."""
    trained = {number(seed, "evaluation", episode) for seed in range(1, 11) for episode in range(100)}
    tested = {number(learning.TEST_SEED + seed, "evaluation", n) for seed in range(1, 11) for n in range(100)}
    assert len(tested) == 1000
    assert not trained & tested


@pytest.mark.parametrize(("words", "status"), [(["--episodes", "5", "PPO"], 2), (["no-such-row"], 2), ([], 0)])
def test_learning_refuses_what_it_cannot_measure_and_lists_what_it_knows(
    words: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def answered() -> int:
        try:
            return learning.main(words)
        except SystemExit as end:
            return int(end.code or 0)

    assert answered() == status
    assert words or "CartPole-v1/DQN" in capsys.readouterr().out


def test_a_call_of_the_data_layer_meets_its_goals_if_it_is_short_and_twice_as_fast() -> None:
    assert data_layer.row("add", [7.0, 8.0, 9.0], [30.0, 12.0, 27.0]) == ("| add | 8.0 | 27.0 | 3.0 | 15 |", True)
    assert data_layer.row("add", [7.0], []) == ("| add | 7.0 |  |  | 15 |", True)
    assert not data_layer.row("add", [16.0], [])[1]
    assert not data_layer.row("add", [7.0], [13.0])[1]


def test_the_bottleneck_is_shown_in_three_tables_with_the_numbers_of_the_reader(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[set[str]] = []

    def train(*words: str) -> dict[str, float]:
        runs.append({word.removeprefix("general_cfg.") for word in words})
        return {"seconds": 1.234}

    monkeypatch.setattr(bottleneck, "train", train)
    given = ["--interaction=0.2", "--learning=0.3", "--workers=1,3", "--learners=4", "--episodes=5"]
    assert bottleneck.main(given) == 0
    tables = capsys.readouterr().out.split("\n\n")
    assert [table.strip().splitlines()[0] for table in tables] == [
        "interaction 0.2 s, learning 0 s, 1 learner",
        "interaction 0 s, learning 0.3 s, 1 learner",
        "interaction 0 s, learning 0.3 s, 4 learners",
    ]
    assert all(table.count("time cost:  1.23") == 2 for table in tables)
    assert {"env_cfg.seconds=0.2", "n_workers=3", "n_learners=1", "max_episode=5"} <= runs[1]
    assert {"env_cfg.seconds=0", "algo_cfg.seconds=0.3", "n_workers=1", "n_learners=4"} <= runs[4]


@pytest.mark.parametrize("word", ["--workers=a", "--workers=1,0", "--workers=", "--learners=0", "--episodes=-1"])
def test_the_bottleneck_needs_numbers_from_1(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bottleneck.main([word])
    assert f"argument {word.partition('=')[0]}: " in capsys.readouterr().err
