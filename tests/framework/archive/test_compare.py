"""Command compare: which runs belong together, what their numbers say, and what is refused."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import joystick
from config.read.loader import ConfigError
from framework.archive import measure, statistics
from framework.archive.find import find
from framework.archive.measure import Score, verdict
from framework.archive.members import of_experiments
from framework.archive.series import Series, differing, gather
from framework.commands.work.compare import compare
from framework.disk.task_dir import held_lock
from framework.errors import JoystickError, TaskDirError
from framework.pages import figures, latex
from tests.tools.compare import make_group, make_run
from tests.tools.tuning import run as run

TASKS = Path("tasks")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def series_of(*words: str) -> list[Series]:
    [several] = gather(find(words, TASKS)).values()
    return several


def seeds_of(*words: str) -> dict[str, list[Any]]:
    return {series.name: [run.seed for run in series.runs] for series in series_of(*words)}


# ------------------------------------------------------------------------------------------------- statistics


def test_the_interquartile_mean_of_a_multiple_of_four_drops_a_quarter_at_each_end_over_runs_and_tasks() -> None:
    """Of 0, 1, 2, 3, 10, 20, 30, 100 the middle four are 2, 3, 10, 20."""
    scores = np.array([[100.0, 3.0, 1.0, 20.0], [30.0, 10.0, 0.0, 2.0]])
    assert statistics.interquartile_mean(scores.reshape(-1)) == (2 + 3 + 10 + 20) / 4


def test_the_probability_of_improvement_is_the_share_of_won_pairs_with_ties_half() -> None:
    """Of the pairs (1, 2), (1, 3), (3, 2), (3, 3): lost, lost, won, tied."""
    assert statistics.improvement(np.array([1.0, 3.0]), np.array([2.0, 3.0])) == 1.5 / 4
    assert statistics.improvement(np.array([5.0]), np.array([1.0, 5.0, 7.0])) == 1.5 / 3
    assert statistics.improvement(np.array([4.0, 4.0]), np.array([4.0])) == 0.5
    several = statistics.improvement(np.array([[1.0, 3.0], [9.0, 9.0]]), np.array([[2.0, 3.0], [0.0, 0.0]]))
    assert several.tolist() == [1.5 / 4, 1.0]


def test_a_stratified_bootstrap_draws_each_sample_for_itself() -> None:
    """Of two samples without a spread nothing else can be drawn, so the interval is a point; of 0 and 2 a sample is 00,
    02, 20 or 22, and beats the ones with probability 0, 1/2, 1/2 or 1."""
    zeros, ones, wide = np.zeros(3), np.ones(4), np.array([0.0, 2.0])
    assert statistics.stratified_interval([zeros, ones], statistics.improvement) == (0.0, 0.0)
    assert statistics.stratified_interval([wide, ones], statistics.improvement) == (0.0, 1.0)
    shares = np.unique(statistics.improvement(np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 2.0]]), np.ones((3, 4))))
    assert shares.tolist() == [0, 0.5, 1]
    assert statistics.stratified_interval([np.ones(1), ones], statistics.improvement) is None


def test_a_sample_is_not_drawn_with_the_places_of_the_other() -> None:
    """A sample against itself: were the places equal, each draw would tie with itself, and the interval be a point."""
    values = np.arange(8.0)
    low, high = statistics.stratified_interval([values, values], statistics.improvement) or (0.5, 0.5)
    assert low < 0.35
    assert high > 0.65


def test_the_bootstrap_gives_the_same_interval_twice() -> None:
    values = np.random.default_rng(1).normal(size=(2, 6))
    first, again = (statistics.stratified_interval(list(values), statistics.improvement) for _ in range(2))
    assert first == again


# ---------------------------------------------------------------------------------------------------- the series


def test_a_group_is_a_series_and_so_are_single_runs_that_differ_in_their_seed_alone() -> None:
    make_group(TASKS / "group", [1, 2, 3])
    for seed in (4, 5):
        make_run(TASKS / f"one_{seed}", seed=seed, learning={"lr": 0.5})
    assert seeds_of("group", "one_*") == {"DQN lr=0.0002": [1, 2, 3], "DQN lr=0.5": [4, 5]}


def test_settings_that_change_no_number_do_not_part_a_series() -> None:
    make_run(TASKS / "a", seed=1, general={"log_level": "debug", "torch_threads": 1, "mode": "train"})
    make_run(TASKS / "b", seed=2, general={"save_fig": False}, world={"render_mode": "rgb_array"})
    make_run(TASKS / "c", seed=3, learning={"gamma": 0.5})
    make_run(TASKS / "d", seed=3, learning={"gamma": 0.5}, general={"n_workers": 4})
    assert list(seeds_of("a", "b", "c", "d").values()) == [[1, 2], [3], [3]]


def test_two_groups_with_equal_settings_are_two_series_and_so_are_two_runs_with_one_seed() -> None:
    make_group(TASKS / "before", [1, 2])
    make_group(TASKS / "after", [3, 4], first=3)
    make_run(TASKS / "one", seed=7)
    make_run(TASKS / "two", seed=7)
    assert seeds_of("before", "after") == {"DQN": [1, 2], "DQN (2)": [3, 4]}
    assert seeds_of("one", "two") == {"DQN": [7], "DQN (2)": [7]}


def test_a_setting_that_is_left_out_has_its_default() -> None:
    from algos.dqn import Config

    make_run(TASKS / "a", seed=1)
    make_run(TASKS / "b", seed=2, learning={"gamma": Config().gamma})
    assert seeds_of("a", "b") == {"DQN": [1, 2]}


def test_a_series_is_named_by_its_algorithm_or_by_what_differs() -> None:
    make_run(TASKS / "a", algo="PPO")
    make_run(TASKS / "b", learning={"lr": 0.1, "gamma": 0.5, "batch_size": 8})
    make_run(TASKS / "c", learning={"lr": 0.2, "gamma": 0.6, "batch_size": 9})
    assert list(seeds_of("a", "b", "c")) == ["PPO", "DQN gamma=0.5 batch_size=8", "DQN gamma=0.6 batch_size=9"]


@pytest.mark.parametrize("seeds", [(1, 2), ()])
def test_a_series_has_the_name_of_its_experiment(seeds: tuple[int, ...]) -> None:
    """One that names algorithm and environment alone, as --algo and --env do, tells nothing that the others do not."""
    group = TASKS / "group"
    settings = {"3 steps, lr 1": {"n_step": 3}, "1e-3": {}, "DQN CartPole-v1": {"gamma": 0.5}, "dqn": {"gamma": 0.6}}
    members = of_experiments([*settings], seeds)
    for member in members:
        make_run(group / member.folder, seed=member.seed or 1, learning=settings[member.experiment])
        (group / member.file).touch()
    (group / "group.json").write_text(json.dumps({"runs": [member.name for member in members]}))
    assert [*seeds_of("group")] == ["3 steps, lr 1", "1e-3", "DQN gamma=0.5", "DQN gamma=0.6"]


def test_a_name_that_is_too_long_leaves_a_setting_out_rather_than_ending_within_one() -> None:
    for name, epsilon in (("a", 0.01), ("b", 0.1), ("c", 0.5)):
        make_run(TASKS / name, algo="PER_DQN", learning={"epsilon_start": epsilon, "epsilon_end": epsilon / 2})
    assert list(seeds_of("a", "b", "c")) == [f"PER_DQN epsilon_start={epsilon} …" for epsilon in (0.01, 0.1, 0.5)]


@pytest.mark.parametrize(
    ("start", "names"),
    [
        (0.6, [f"DQN epsilon_end={end} …" for end in (0.012, 0.013, 0.5)]),
        (0.7, ["DQN epsilon_start=0.123 epsilon_end=0.0…", "DQN epsilon_start=0.123 epsilon_end=0.0… (2)",
               "DQN epsilon_start=0.7 epsilon_end=0.013"]),
    ],
)  # fmt: skip
def test_a_name_that_is_too_long_is_cut_where_no_single_setting_tells_the_series_apart(
    start: float, names: list[str]
) -> None:
    for name, end in (("a", 0.012), ("b", 0.013), ("c", 0.5 if start == 0.6 else 0.013)):
        make_run(TASKS / name, learning={"epsilon_start": start if name == "c" else 0.123, "epsilon_end": end})
    assert list(seeds_of("a", "b", "c")) == names


def test_a_group_of_experiments_is_a_series_for_each_in_the_order_of_its_table() -> None:
    names = [(algo, seed) for algo in ("PPO", "DQN") for seed in (1, 2)]
    for algo, seed in names:
        make_run(TASKS / "runs" / f"{algo}_{seed}", algo=algo, seed=seed)
    (TASKS / "runs" / "group.json").write_text("{}")
    rows = "".join(f"{algo} {seed},{algo}_{seed}\n" for algo, seed in names)
    (TASKS / "runs" / "runs.csv").write_text(f"run,folder\n{rows}")
    assert seeds_of("runs") == {"PPO": [1, 2], "DQN": [1, 2]}


def test_the_trials_of_a_tuning_are_series_with_their_seeds() -> None:
    for trial, lr in (("0", 0.1), ("1", 0.2)):
        for seed in (1, 2):
            make_run(TASKS / "tune" / "trials" / trial / f"seed_{seed}", seed=seed, learning={"lr": lr})
    (TASKS / "tune" / "tune.json").write_text("{}")
    assert seeds_of("tune") == {"DQN lr=0.1": [1, 2], "DQN lr=0.2": [1, 2]}


def test_a_run_is_named_by_name_folder_or_pattern_and_counts_once(tmp_path: Path) -> None:
    make_group(TASKS / "group", [1, 2, 3])
    make_run(tmp_path / "elsewhere" / "run", algo="PPO")
    make_run(TASKS / "Test_x", general={"mode": "test"})
    make_run(TASKS / "played", general={"mode": "test"})  # with --into
    (TASKS / "Compare_x").mkdir()
    words = ("group/seed_2", "tasks/group/seed_[12]", str(TASKS.absolute() / "group"), "elsewhere/*", "*")
    assert seeds_of(*words) == {"DQN": [2, 1, 3], "PPO": [1]}


def test_a_path_through_the_folder_above_is_no_name_of_a_run_here(tmp_path: Path, monkeypatch) -> None:
    """tasks/../tasks/run would be the run of that name here, and the other one would be left out without a word."""
    make_run(tmp_path / "tasks" / "run", algo="PPO")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    make_run(TASKS / "run")
    assert seeds_of("run", "../tasks/run") == {"DQN": [1], "PPO": [1]}
    assert seeds_of("../tasks/*") == {"PPO": [1]}


# ---------------------------------------------------------------------------------------------------- the numbers


def test_final_and_best_scores_are_interquartile_means_over_the_runs() -> None:
    """Final 1, 2, 3, 10: (2 + 3) / 2; best 5, 2, 3, 10: (3 + 5) / 2."""
    for seed, (middle, end) in enumerate([(5, 1), (1, 2), (1, 3), (1, 10)], start=1):
        make_run(TASKS / f"a{seed}", [(100, middle), (200, end)], seed=seed)
    make_group(TASKS / "b", [0, 0, 0, 0], algo="PPO")
    first, second = compare(["a*", "b"])
    assert (first["series"], first["scored"], first["final"], first["best"]) == ("DQN", 4, 2.5, 4.0)
    assert (first["final_low"], first["final_high"]) == statistics.interval(
        np.array([1.0, 2.0, 3.0, 10.0]), statistics.interquartile_mean
    )
    assert first["improvement"] is None
    assert (second["improvement"], second["improvement_low"], second["improvement_high"]) == (0.0, 0.0, 0.0)
    assert second["verdict"] == "probably worse"


def test_the_probability_of_improvement_is_that_of_the_final_scores() -> None:
    """Final 1 and 4 against 2 and 3: 1/2. With the best scores, 9 and 9, it would be 1."""
    for name, algo, ends in (("a", "DQN", (2, 3)), ("b", "PPO", (1, 4))):
        for seed, end in enumerate(ends):
            make_run(TASKS / f"{name}{seed}", [(100, 9 if name == "b" else 0), (200, end)], seed=seed, algo=algo)
    assert compare(["a*", "b*"])[1]["improvement"] == 0.5


def test_steps_and_seconds_to_a_threshold_are_medians_over_all_runs() -> None:
    """One run is there at once, one at step 200, one never: the middle one is 200 steps of 1/100 s."""
    for seed, scores in enumerate([(9, 1), (1, 9), (1, 1)], start=1):
        make_run(TASKS / f"a{seed}", list(zip((100, 200), scores, strict=True)), seed=seed)
    make_group(TASKS / "b", [9, 1], algo="PPO")
    first, second = compare(["a*", "b"], threshold=9)
    assert (first["reached"], first["steps"], first["seconds"]) == (2, 200, 2.0)
    assert (second["reached"], second["steps"], second["seconds"]) == (1, None, None), "half of them never do"


def test_the_seconds_are_interpolated_between_iterations_and_not_beyond_the_last() -> None:
    folder = make_run(TASKS / "a", [(100, 1), (150, 5), (300, 9)])
    lines = ['{"step": 100, "seconds_total": 4}', '{"step": 200, "seconds_total": 8}', "{damaged", "[]"]
    (folder / "results" / "result.json").write_text("\n".join(lines) + "\n")
    make_run(TASKS / "b", algo="PPO")
    assert [compare(["a", "b"], threshold=goal)[0]["seconds"] for goal in (1, 5, 9)] == [4, 6, None]


def threshold_of(*words: str) -> tuple[float, str]:
    [(name, several)] = gather(find(words, TASKS)).items()
    compared = measure.compare(name, several, None)
    assert compared is not None
    return compared.threshold


def test_the_threshold_is_the_lowest_goal_that_is_reached_or_90_percent_of_the_way() -> None:
    make_run(TASKS / "a", [(100, 0), (200, 10)])
    make_run(TASKS / "b", [(100, 2), (200, 6)], algo="PPO")
    goal, origin = threshold_of("a", "b")
    assert (goal, origin) == (9.0, "90 % of the way from the worst score, 0, to the best at the end, 10")
    make_run(TASKS / "c", [(100, 2), (200, 6)], algo="PPO", expected_return=8.0)
    assert threshold_of("a", "c") == (8.0, "what the preset promises")
    make_run(TASKS / "d", algo="A2C", general={"reward_threshold": 7.5})
    assert threshold_of("a", "c", "d") == (7.5, "general_cfg.reward_threshold")
    assert threshold_of("b", "d")[0] == pytest.approx(1 + 0.9 * 5), "nobody reaches 7.5"


@pytest.mark.parametrize(
    ("better", "final", "seeds", "said"),
    [
        (Score(0.6, (0.4, 0.9)), (3, 4), 5, "within noise"),
        (Score(0.8, (0.5, 0.9)), (3, 4), 5, "within noise"),
        (Score(0.9, (0.8, 1.0)), (3, 4), 5, "better"),
        (Score(0.9, (0.8, 1.0)), (3, 4), 4, "probably better"),
        (Score(0.1, (0.0, 0.2)), (-4, -3), 9, "worse"),
        (Score(0.9, (0.8, 1.0)), (1, 4), 5, "probably better"),
        (Score(0.1, (0.0, 0.2)), (-1, 0), 3, "probably worse"),
        (Score(1.0, None), None, 2, "too few seeds"),
        (Score(None, None), None, 0, "no score yet"),
    ],
)
def test_what_an_interval_says(better: Score, final: tuple[float, float] | None, seeds: int, said: str) -> None:
    """The first series is between 0 and 2."""
    assert verdict(better, Score(0.0, final), Score(1.0, (0, 2)), seeds) == said


def test_the_order_of_keys_within_a_setting_is_no_difference() -> None:
    """That of a config.yaml that was restored from a checkpoint is another one."""
    layer = {"layer_type": "linear", "layer_size": [8], "activation": "relu"}
    for name in ("a", "b"):
        file = make_run(TASKS / name, learning={"value_layers": [layer]}) / "config.yaml"
    sections = yaml.safe_load(file.read_text())
    sections["algo_cfg"]["value_layers"] = [dict(reversed(sorted(layer.items())))]
    file.write_text(yaml.safe_dump(sections, sort_keys=False))
    assert differing(series_of("a", "b")) == ({}, {})


def test_fewer_than_three_seeds_have_no_interval() -> None:
    make_group(TASKS / "a", [1, 2, 3])
    make_group(TASKS / "b", [7, 8], algo="PPO")
    first, second = compare(["a", "b"])
    assert first["final_low"] is not None
    assert (second["final_low"], second["improvement"], second["improvement_low"]) == (None, 1.0, None)
    assert second["verdict"] == "too few seeds"


def test_without_online_evaluation_of_all_runs_the_returns_of_training_are_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run(TASKS / "a", [(200, 500.0)], episodes=[(100, 10), (200, 30)])
    make_run(TASKS / "b", [(200, 400.0)], episodes=[(100, 40), (200, 20)], algo="PPO", online=False)
    assert run("compare", "a", "b", "--into", "out") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "returns of training, with exploration, because 1 of 2 runs was trained without online_eval" in said
    assert [(row["score"], row["final"]) for row in compare(["a", "b"])] == [("training", 30.0), ("training", 20.0)]
    assert "returns of training" in Path("out/compare.html").read_text()


def test_a_lucky_first_episode_is_neither_a_best_score_nor_a_goal_that_was_reached() -> None:
    """A running mean of 5 episodes has its first score at the fifth."""
    lucky = [(number, 1000.0 if number == 1 else 10.0) for number in range(1, 101)]
    for seed in (1, 2):
        make_run(TASKS / f"a{seed}", seed=seed, online=False, episodes=lucky)
    make_run(TASKS / "b", online=False, algo="PPO", episodes=[(number, 20.0) for number in range(1, 101)])
    first, _ = compare(["a1", "a2", "b"], threshold=300)
    assert first["best"] == 208.0, "the mean of 1000, 10, 10, 10, 10"
    assert first["reached"] == 0


def test_runs_that_learn_from_given_data_are_compared_by_evaluations_over_updates() -> None:
    """They have no episodes of training, and step 0 throughout."""
    for name, algo, score in (("a", "BC", 5), ("b", "CQL", 6)):
        folder = make_run(TASKS / name, [(100, 1)], algo=algo, episodes=(), online=False)
        rows = f"update,step,mean,std,min,max,episodes\n50,0,1,0,1,1,10\n100,0,{score},0,1,1,10\n"
        (folder / "results" / "eval.csv").write_text(rows)
    first, second = compare(["a", "b"], threshold=5)
    assert (first["score"], first["final"], first["updates"], second["final"]) == ("evaluation", 5, 100, 6)


# -------------------------------------------------------------------------------------------- what is not finished


def test_a_run_that_trains_or_has_failed_counts_as_far_as_it_came_and_is_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run(TASKS / "a", [(100, 5), (1000, 6)])
    half = make_run(TASKS / "b1", [(100, 3)], algo="PPO", finished=False)
    make_run(TASKS / "b2", [], algo="PPO", seed=2, finished=False, outcome="interrupted")
    lock = held_lock(half)
    assert lock is not None
    with lock:
        assert run("compare", "a", "b*") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "PPO: 1 running, 1 interrupted; what is there counts" in said
    assert "PPO: 1 run of 2 without a score yet, left out." in said
    assert (
        "Scores count up to step 100, to which all runs have come; the last ones are after 100 to 1,000 steps" in said
    )
    rows = compare(["a", "b*"])
    assert (rows[1]["scored"], rows[1]["final"], rows[1]["states"]) == (1, 3.0, ["failed", "interrupted"])


def test_the_first_series_that_has_a_score_is_the_one_to_compare_with() -> None:
    make_run(TASKS / "a", [], finished=False)
    make_run(TASKS / "b", [(100, 1)], algo="PPO")
    make_run(TASKS / "c", [(100, 2)], algo="A2C")
    rows = compare(["a", "b", "c"])
    assert [(row["series"], row["improvement"]) for row in rows] == [("PPO", None), ("A2C", 1.0), ("DQN", None)]
    assert rows[2]["verdict"] == "no score yet"


def test_settings_that_change_the_task_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    make_run(TASKS / "a")
    make_run(TASKS / "b", general={"max_step": 500}, world={"gravity": 20.0, "n_envs": 4})
    assert run("compare", "a", "b") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The series differ in general_cfg.max_step, env_cfg.gravity: they learn different tasks" in said


def test_a_plus_sign_makes_one_series_of_further_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    make_group(TASKS / "group", [1, 2])
    make_group(TASKS / "more", [3], first=3)
    make_run(TASKS / "one", seed=4)
    make_run(TASKS / "again", seed=2)
    make_run(TASKS / "slow", seed=5, learning={"lr": 0.5})
    assert seeds_of("group", "more", "one") == {"DQN": [1, 2], "DQN (2)": [3], "DQN (3)": [4]}
    assert seeds_of("group+more+one") == {"DQN": [1, 2, 3, 4]}
    assert sorted(seeds_of("group+again+slow").values()) == [[1, 2], [2], [5]]
    make_run(TASKS / "a+b", seed=9)
    assert seeds_of("a+b") == {"DQN": [9]}, "a name of its own"
    assert run("compare", "group+none", "one") == 2
    assert "there is no run 'none'" in capsys.readouterr().err


def test_versions_of_own_code_are_named_where_runs_have_different_ones(capsys: pytest.CaptureFixture[str]) -> None:
    make_run(TASKS / "a", code={"walk.py": "1", "mine/sizes.py": "1"})
    make_run(TASKS / "b", code={"walk.py": "2", "mine/sizes.py": "1", "mine/other.py": "1"})
    make_run(TASKS / "c")
    assert run("compare", "a", "b", "c") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The runs were trained with different versions of your own code: walk.py. code/ of each run" in said
    assert run("compare", "b", "c") == 0
    assert "your own code" not in capsys.readouterr().out


def test_the_limit_of_the_environment_itself_may_be_that_of_the_other_series(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run from data has -1 where one that collects for some episodes has 200."""
    make_run(TASKS / "a", general={"max_step": -1})
    make_run(TASKS / "b", general={"max_step": 500})
    assert run("compare", "a", "b") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "where -1 is the limit of the environment itself: unless that is 500, too, they learn different tasks" in said
    )


# --------------------------------------------------------------------------------------------- several environments


def test_each_environment_has_a_section_and_one_with_a_single_run_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for env in ("CartPole-v1", "Acrobot-v1"):
        for algo in ("DQN", "PPO"):
            make_run(TASKS / f"{env}_{algo}", env=env, algo=algo)
    make_run(TASKS / "alone", env="Pendulum-v1", algo="SAC")
    assert run("compare", "*", "--into", "out") == 0
    out, page = capsys.readouterr().out, Path("out/compare.html").read_text()
    for text in (out, page):
        assert "Pendulum-v1 is left out: SAC is its only run." in text
        assert text.index("Acrobot-v1") < text.index("Pendulum-v1 is left out") or text is page
    assert "scores of different environments are not comparable" in page
    assert page.count('class="env"') == 2
    assert {row["environment"] for row in compare(["*"])} == {"CartPole-v1", "Acrobot-v1"}


def test_runs_of_one_algorithm_have_scores_curves_and_a_column_for_each_environment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A benchmark of one algorithm. There is nothing to be better than: no verdict, and no bold score."""
    for env, score in (("CartPole-v1", 7.0), ("Acrobot-v1", -90.0)):
        make_group(TASKS / env, [score] * 3, env=env)
    assert run("compare", *("CartPole-v1", "Acrobot-v1"), "--into", "out") == 0
    said, page, tex = capsys.readouterr().out, Path("out/compare.html").read_text(), Path("out/compare.tex").read_text()
    assert said.count("There is one series, DQN: name another run or group to compare it with.") == 2
    assert not any(word in text for text in (said, page) for word in ("P(> first)", "Probability", "no setting"))
    assert r"DQN & $7$ {\scriptsize $[7, 7]$} & $-90$ {\scriptsize $[-90, -90]$} \\" in tex
    assert sorted(path.suffix for path in Path("out").glob("learning_curves_*")) == [".pdf", ".pdf", ".png", ".png"]
    assert [row["final"] for row in compare(["CartPole-v1"])] == [7.0]


# -------------------------------------------------------------------------------------------------- what is refused


def refused(*words: str) -> None:
    before = sorted(Path().rglob("*"))
    assert run("compare", *words) == 2
    assert sorted(Path().rglob("*")) == before, "nothing is created"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["cartpole_dqm", "x"], "there is no run 'cartpole_dqm'; did you mean cartpole_dqn?"),
        (["zzz"], "there is no run 'zzz'; python main.py runs lists the runs"),
        (["zzz*"], "'zzz*' matches no training run"),
        (["cartpole_dqn"], "there is only one run, of DQN; name another run or group too"),
        (["cartpole_dqn", "tasks/cartpole_dqn"], "there is only one run, of DQN; name another run or group too"),
        (["cartpole_dqn", "acrobot"], "not comparable: DQN on CartPole-v1, PPO on Acrobot-v1"),
        (["cartpole_dqn", "new"], "nothing to compare yet: CartPole-v1 is left out: there is no evaluation of PPO yet"),
        (["cartpole_dqn", "tested"], "tasks/tested is a test; compare the training run that it tested"),
        (["empty", "new"], "'tasks/empty' is neither a run nor a group of runs"),
        (["begun", "new"], "'tasks/begun' is a group of which no run has begun; python main.py resume tasks/begun"),
        (["a" * 300], "cannot be read"),
        ([], "the following arguments are required: RUN"),
        (["group", "--threshold", "high"], "invalid score 'high': use a number"),
        (["group", "--threshold", "nan"], "invalid score 'nan'"),
        (["group+ppo", "group"], "tasks/group/seed_1 is named twice, and group+ppo joins it to other runs"),
        (["ppo", "group", "group+ppo"], "tasks/group/seed_1 is named twice, and group+ppo joins it"),
        (["group", "ppo", "--width", "0.5"], "invalid width '0.5': use a number of inches from 1 to 40, such as 3.25"),
        (["group", "ppo", "--width", "wide"], "invalid width 'wide'"),
        (["group", "--seeds", "1"], "unknown flag --seeds"),
        (["cartpole_dqn", "ppo", "--into", "tasks/group"], "tasks/group exists; --into names a new folder"),
    ],
)
def test_bad_input_is_answered_in_a_sentence_and_nothing_is_created(
    words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(TASKS / "cartpole_dqn")
    make_run(TASKS / "ppo", algo="PPO")
    make_group(TASKS / "group", [1, 2, 3])
    make_run(TASKS / "acrobot", algo="PPO", env="Acrobot-v1")
    make_run(TASKS / "new", [], episodes=(), algo="PPO", finished=False)
    make_run(TASKS / "tested", general={"mode": "test"})
    (TASKS / "empty").mkdir()
    (TASKS / "begun").mkdir()
    (TASKS / "begun" / "group.json").write_text("{}")
    refused(*words)
    err = " ".join(capsys.readouterr().err.split())
    assert answer in err
    assert "Traceback" not in err


@pytest.mark.parametrize("threshold", ["0.9", math.nan, math.inf])
def test_a_threshold_that_is_no_number_is_refused_in_python_too(threshold: Any) -> None:
    with pytest.raises(ConfigError, match=r"threshold: got .*; expected a score, which is a number"):
        compare(["a", "b"], threshold=threshold)
    with pytest.raises(ConfigError, match=r"several runs are one list: compare\(\[A, B\]\)"):
        compare("a", "b")  # type: ignore[arg-type]
    make_run(TASKS / "a")
    make_run(TASKS / "b", algo="PPO")
    assert [row["threshold"] for row in compare(["a", "b"], threshold=np.float32(1.5))] == [1.5, 1.5]


def test_runs_that_no_evaluation_has_reached_are_not_said_to_be_compared_by_evaluations(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run(TASKS / "a", ())
    make_run(TASKS / "b", (), algo="PPO")
    assert run("compare", "a", "b") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Scores are running means of the returns of training, with exploration, because no run has an eval" in said
    assert "online evaluations" not in said


def test_a_damaged_table_of_episodes_is_named_where_there_are_no_evaluations_yet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("a", "b"):
        folder = make_run(TASKS / name, (), algo="DQN" if name == "a" else "PPO")
    (folder / "results" / "train.csv").write_text("episode,step,update,return\n1,1,1,junk\n")
    refused("a", "b")
    assert "row 2 has 'junk' as return, which is a number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "answer"),
    [
        ("results/eval.csv", "step,update,mean\n1,1,abc\n", "row 2 has 'abc' as mean, which is a number"),
        ("results/eval.csv", "a,b\n1,2\n", "row 2 has nothing as step"),
        ("results/eval.csv", "step,update,mean\n1,1,5\n2;2,6\n3,3,7\n", "line 3 has not as many cells as the first"),
        ("results/eval.csv", "step,update,mean\n1,1,5\n2,2,\n", "row 3 has nothing as mean, which is a number"),
        ("results/eval.csv", 'x,y,"z', "its first line names no column mean"),
        ("results/eval.csv", "step,update,mean\n20,1,5\n10,2,6\n", "the steps go back at row 3"),
        ("results/eval.csv", "step,update,mean\n1,1,\x00\n", "row 2 has '\\x00' as mean"),
        ("config.yaml", "general_cfg: [\n", "the settings of tasks/b cannot be read"),
    ],
)
def test_a_damaged_file_is_named(name: str, content: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(TASKS / "a")
    (make_run(TASKS / "b", algo="PPO") / name).write_text(content)
    refused("a", "b")
    err = capsys.readouterr().err
    assert answer in err
    assert "tasks/b" in err


# ---------------------------------------------------------------------------------------------------- what is written


def test_compare_csv_has_a_row_for_each_series_with_lists_as_json_and_python_returns_the_same() -> None:
    make_group(TASKS / "a", [1, 2, 3])
    make_group(TASKS / "b", [4, 5, 6], algo="PPO")
    assert run("compare", "a", "b", "--into", "out") == 0
    with open("out/compare.csv", encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    rows = joystick.compare(["a", "b"])
    assert [float(row["final"]) for row in read] == [row["final"] for row in rows]
    assert json.loads(read[1]["seeds"]) == [1, 2, 3]
    assert json.loads(read[1]["folders"]) == [f"tasks/b/seed_{n}" for n in (1, 2, 3)]
    assert json.loads(read[0]["settings"])["general_cfg.algo_name"] == "DQN"
    assert (read[0]["improvement"], read[1]["improvement"]) == ("", "1.0")
    assert json.dumps(rows)
    with pytest.raises(JoystickError, match="there is no run 'c'"):
        joystick.compare("c")


def test_the_latex_table_has_a_row_for_each_series_and_a_column_for_each_environment() -> None:
    """Interquartile means of three seeds: 2, and of the others 13,000, whose interval the one of 12,999.5 meets."""
    make_group(TASKS / "a", [1, 2, 3])
    make_group(TASKS / "b", [12_000, 13_000, 14_000], algo="my_PPO")
    make_group(TASKS / "c", [12_999, 12_999.5, 13_000], algo="C51")
    make_run(TASKS / "d", [(100, -1.5), (200, -0.5)], env="50%_slip", algo="C51")
    make_run(TASKS / "e", [(100, -1.5), (200, -2.5e-5)], env="50%_slip")
    assert run("compare", "a", "b", "c", "d", "e", "--into", "out") == 0
    lines = Path("out/compare.tex").read_text().splitlines()
    assert (
        r"% Needs \usepackage{booktabs}. Interquartile means of the final scores over seeds, with 95 % intervals"
        in lines
    )
    assert "% CartPole-v1: DQN 3 seeds, my_PPO 3 seeds, C51 3 seeds" in lines
    assert [line for line in lines if line.startswith("% Scores")] == 2 * [
        "% Scores are mean returns of the online evaluations."
    ]
    assert lines[lines.index(r"\toprule") - 1 :] == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r" & CartPole-v1 & 50\%\_slip \\",
        r"\midrule",
        r"DQN & $2$ {\scriptsize $[1, 3]$} & $-2.5 \times 10^{-5}$ \\",
        r"my\_PPO & $\mathbf{13{,}000}$ {\scriptsize $[12{,}000, 14{,}000]$} & -- \\",
        r"C51 & $\mathbf{13{,}000}$ {\scriptsize $[12{,}999, 13{,}000]$} & $-0.5$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert {path.name for path in Path("out").glob("*.pdf")} == {
        "learning_curves_CartPole-v1.pdf",
        "learning_curves_50-_slip.pdf",
    }


def test_no_score_of_unequal_budgets_is_bold() -> None:
    make_run(TASKS / "a", [(100, 1.0), (200, 2.0)])
    make_run(TASKS / "b", [(1000, 9.0), (9000, 9.0)], algo="PPO")
    assert run("compare", "a", "b", "--at", "last", "--into", "out") == 0
    text = Path("out/compare.tex").read_text()
    assert "mathbf" not in text
    assert "too unequal" in text


def test_a_figure_that_cannot_be_drawn_leaves_the_page_and_the_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no fonts")

    make_run(TASKS / "a")
    make_run(TASKS / "b", algo="PPO")
    monkeypatch.setattr(figures, "comparison", broken)
    assert run("compare", "a", "b", "--into", "out") == 0
    assert {path.name for path in Path("out").iterdir()} == {"compare.html", "compare.csv", "compare.tex"}
    out = capsys.readouterr().out
    assert "learning_curves" not in out
    assert "cannot draw the learning curves: CartPole-v1: no fonts" in out


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left"), 2)])
def test_a_comparison_that_is_stopped_leaves_no_folder(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise error

    make_run(TASKS / "a")
    make_run(TASKS / "b", algo="PPO")
    monkeypatch.setattr(latex, "table", stopped)
    assert run("compare", "a", "b", "--into", "out") == status
    assert not Path("out").exists()


def test_a_comparison_is_a_value_with_verdict_figure_and_page_of_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    make_group(TASKS / "a", [1, 2, 3])
    make_group(TASKS / "b", [4, 5, 6], algo="PPO")
    compared = joystick.compare([Path("tasks/a"), "b"])
    assert compared.verdict.startswith("PPO: the probability that a run of it ends higher than one of DQN is 1")
    assert run("compare", "a", "b") == 0
    assert repr(compared) in capsys.readouterr().out
    page = compared._repr_html_()
    assert "<script" not in page
    assert page.count("<img") == page.count("data:image/svg+xml;base64,") == 1
    assert "<th class=n>P(&gt; DQN)</th>" in page
    assert "probably better</td>" in page
    assert compared.plot()._repr_png_()[:4] == b"\x89PNG"
    with pytest.raises(JoystickError, match="there is no comparison on 'CartPole-v0'; did you mean"):
        compared.plot("CartPole-v0")


def test_the_curves_have_the_width_of_a_column_and_no_title() -> None:
    make_group(TASKS / "a", [1, 2, 3])
    make_group(TASKS / "b", [4, 5, 6], algo="PPO")
    assert run("compare", "a", "b", "--width", "3.25", "--into", "out") == 0
    assert b"/MediaBox [ 0 0 234 " in Path("out/learning_curves.pdf").read_bytes(), "3.25 inches of 72 points"
    compared = joystick.compare(["a", "b"])
    wide, narrow = (compared.plot(width=width).save(f"{width}.svg").read_text() for width in (None, 5))
    assert [re.search(r'width="(\d+)', picture)[1] for picture in (wide, narrow)] == ["576", "360"]  # type: ignore[index]
    assert ["CartPole-v1" in picture for picture in (wide, narrow)] == [True, False]
    with pytest.raises(ConfigError, match="width: got '3in'; expected a number of inches from 1 to 40"):
        compared.plot(width="3in")  # type: ignore[arg-type]


def test_a_later_setting_names_the_series_where_the_first_ones_tell_none_apart() -> None:
    for place, (size, steps) in enumerate(((40, 100), (40, 200), (80, 300)), start=1):
        learning = {"batch_size": size, "buffer_size": size}
        make_run(TASKS / f"run{place}", general={"max_total_step": steps}, learning=learning)
    [section] = gather(find(["run1", "run2", "run3"], TASKS)).values()
    assert [series.name for series in section] == [f"DQN max_total_step={steps} …" for steps in (100, 200, 300)]


def test_names_with_html_in_them_are_text_in_a_cell() -> None:
    for place, algo in enumerate(("DQN", "PPO")):
        make_group(TASKS / f"<b>{place}", [1, 2, 3], algo=algo, env="<img src=x>")
    page = joystick.compare([TASKS / "<b>0", TASKS / "<b>1"])._repr_html_()
    assert "<img src=x>" not in page
    assert "<b>0" not in page
    assert "&lt;img src=x&gt;" in page


def test_environments_have_their_parts_in_a_cell_and_the_one_with_a_single_run_is_named() -> None:
    for name, env, algo in (
        ("a", "A", "DQN"),
        ("b", "A", "PPO"),
        ("c", "B", "DQN"),
        ("d", "B", "PPO"),
    ):
        make_group(TASKS / name, [1, 2, 3], algo=algo, env=env)
    make_run(TASKS / "e", env="C")
    compared = joystick.compare([*"abcde"])
    page = compared._repr_html_()
    assert [part in page for part in ("<b>A</b>", "<b>B</b>", "C is left out")] == [True] * 3
    assert "C is left out" in repr(compared)
    assert compared.plot("B")._repr_png_() != compared.plot()._repr_png_()


@pytest.mark.parametrize("runs", [[], (), iter([])])
def test_nothing_to_compare_is_said(runs: Any) -> None:
    with pytest.raises(JoystickError, match="nothing to compare: name at least two runs or groups"):
        joystick.compare(runs)


@pytest.mark.parametrize("runs", [3, None, [3], [None, "a"]])
def test_what_is_no_run_is_refused(runs: Any) -> None:
    with pytest.raises(joystick.ConfigError, match="expected runs, or names of runs, in a list"):
        joystick.compare(runs)


def test_a_run_that_trains_in_this_process_is_compared_as_it_stands() -> None:
    general = {"max_total_step": 2000, "save_fig": False, "loggers": ["csv"], "online_eval": False}
    names = [Path(f"tasks/{algo}") for algo in ("QLearning", "Sarsa")]
    runs = [joystick.Run(name.name, "FrozenLake-v1", into=name, general_cfg=general) for name in names]
    for trained in runs:
        trained.train(1000)
    rows = joystick.compare(runs)
    assert [row["states"] for row in rows] == [["running"], ["running"]]
    assert [row["scored"] for row in rows] == [1, 1]
    for trained in runs:
        trained.close()


def test_the_folder_is_named_after_environments_and_algorithms() -> None:
    make_run(TASKS / "a", env="ALE/Pong-v5")
    make_run(TASKS / "b", env="ALE/Pong-v5", algo="PPO")
    assert run("compare", "a", "b") == 0
    [folder] = TASKS.glob("Compare_*")
    assert folder.name.startswith("Compare_ALE-Pong-v5_DQN-PPO_")
    names = {"compare.html", "compare.csv", "compare.tex", "learning_curves.png", "learning_curves.pdf"}
    assert {path.name for path in folder.iterdir()} == names


def test_no_line_is_wider_than_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    long = {"lr": 0.000123456, "gamma": 0.987654321, "batch_size": 123456}
    layers = [{"layer_type": "linear", "layer_size": [64], "activation": "relu"}]
    for place in range(4):
        more = {**long, "lr": place + 0.000123456, "value_layers": layers[: place % 2]}
        scores = [(100, -123456.789), (200_000_000, -23456.789 + place)]
        for seed in range(1, 6):
            make_run(TASKS / f"r{place}_{seed}", scores, seed=seed, learning=more)
    assert run("compare", "*") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:-4])) <= 80, max(lines[:-4], key=len)
    assert all(line == line.rstrip() for line in lines)


# ------------------------------------------------------------------------------------------------- unequal budgets


def unequal() -> None:
    """PPO has learned more slowly, and longer: at step 300 it is the worse one, and at its end the better one."""
    for seed in range(1, 6):
        make_run(TASKS / f"a{seed}", [(100, 1 + seed), (200, 2), (300, 10 + seed)], seed=seed, algo="A2C")
        points = [(150, 2 + seed), (295, 5 + seed), (1000, 50 + seed)]
        make_run(TASKS / f"b{seed}", points, seed=seed, algo="PPO")


def test_unequal_budgets_are_compared_at_the_last_step_that_all_runs_have_come_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unequal()
    assert run("compare", "a*", "b*", "--into", "out") == 0
    lines = capsys.readouterr().out.strip().splitlines()
    said = " ".join(" ".join(lines[:6]).split())
    assert said.startswith(
        "CartPole-v1 Scores count up to step 300, to which all runs have come; the last ones are after 300 to 1,000 "
        "steps (compare --at last). PPO: the probability that a run of it ends higher than one of A2C is"
    )
    assert "It is worse." in said
    html = Path("out/compare.html").read_text(encoding="utf-8")
    assert html.index("Scores count up to step 300") < html.index("the probability that a run")
    first, second = compare(["a*", "b*"])
    assert (first["at"], first["final"], second["final"], second["best"]) == (300.0, 13.0, 8.0, 8.0)


def test_the_last_scores_of_unequal_budgets_are_shown_and_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    unequal()
    assert run("compare", "a*", "b*", "--at", "last") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The last scores are after 300 to 1,000 steps, too unequal to tell which is better." in said
    assert "Their budgets are unequal, so that this does not tell which is better." in said
    assert "It is better" not in said
    first, second = compare(["a*", "b*"], at="last")
    assert (first["at"], second["final"], second["verdict"]) == (None, 53.0, "unequal budgets")


def test_runs_without_a_common_step_are_not_judged() -> None:
    for seed in (1, 2, 3):
        make_run(TASKS / f"a{seed}", [(100, 1)], seed=seed)
        make_run(TASKS / f"b{seed}", [(1000, 2)], seed=seed, algo="PPO")
    assert compare(["a*", "b*"])[1]["verdict"] == "unequal budgets"


@pytest.mark.parametrize(
    ("steps", "common"),
    [
        ([[10, 20], [10, 20]], None),
        ([[10, 100], [10, 109]], None),
        ([[10, 100], [10, 60, 120]], 10.0),
        ([[10, 58, 100], [10, 60, 120]], 60.0),
        ([[10, 20], [30]], None),
        ([[0], [0, 100]], 0.0),
    ],
)
def test_the_common_step_is_one_at_which_all_curves_have_scores(steps: list[list[float]], common: float | None) -> None:
    assert measure.common_step([(np.array(each, float), np.zeros(len(each))) for each in steps]) == common


def test_where_to_compare_is_one_of_two_words(capsys: pytest.CaptureFixture[str]) -> None:
    unequal()
    assert run("compare", "a*", "b*", "--at", "300") == 2
    assert "common" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="at: got 300; expected common or last"):
        compare(["a*", "b*"], at=300)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["group.json", "seeds.csv", "report.html", "seed_1/results/more"])
def test_a_group_with_a_link_anywhere_in_it_is_not_compared(name: str, tmp_path: Path) -> None:
    group = make_group(tmp_path / "group", [1.0, 2.0])
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    (group / name).unlink(missing_ok=True)
    (group / name).symlink_to(secret)
    with pytest.raises(TaskDirError, match=f"{name} is a link; a task directory holds files and folders only"):
        find(["group"], tmp_path)
