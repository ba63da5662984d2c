"""A group and a tuning as the page of the command watch shows them while they run."""

import json
from pathlib import Path
from typing import Any

import pytest

from framework.disk.task_dir import held_lock
from framework.live import group_view
from framework.live.files import MOST_FILES, Files
from tests.tools.watch import episode, episodes_of, now, run, served

TUNE = """
general_cfg: {algo_name: DQN, env_name: gym}
env_cfg: {id: CartPole-v1}
algo_cfg: {lr: {log: [0.001, 0.1]}, gamma: {grid: [0.9, 0.99]}}
tune_cfg: {samples: 2}
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return tmp_path / "tasks"


def with_returns(folder: Path, factor: float) -> Path:
    """A run whose returns are `factor` times those of the others."""
    run(folder, episodes=0)
    with episodes_of(folder) as train:
        train.extend([episode(number, **{"return": factor * number}) for number in range(1, 21)])
    return folder


def details(server: Any) -> Any:
    """What the page gets of the only group."""
    [group] = now(server)["groups"]
    return now(server, group=group["id"])["group"]


def lines(shown: Any, kind: str | None = None) -> list[Any]:
    """The lines of the chart of a group, of one kind or all of them, with the places of their points."""
    [chart] = shown["chart"]["charts"]
    every = [line | {"places": shown["chart"]["x"][line["x"]]} for line in chart["lines"]]
    return [line for line in every if kind is None or line.get("kind") == kind]


def test_seeds_have_their_mean_and_its_interval(tasks: Path) -> None:
    for seed in (1, 2, 3):
        with_returns(tasks / "Seeds" / f"seed_{seed}", float(seed))
    (tasks / "Seeds" / "group.json").write_text(json.dumps({"seeds": [1, 2, 3]}))
    (tasks / "Seeds" / "config.yaml").write_text("general_cfg: {}\n")
    with served(tasks) as server:
        shown = details(server)
        assert "its 95 % interval" in shown["said"]
        thick, thin = lines(shown, "first"), lines(shown, "pale")
        assert [line["name"] for line in thin] == ["seed_1", "seed_2", "seed_3"]
        for line, axis, first in zip(thick, ("environment steps", "updates", "episodes"), (10, 2, 1), strict=True):
            assert (line["name"], line["places"]) == ("mean of 3 runs", {axis: line["places"][axis]})
            ends = line["places"][axis][0], line["y"][0], line["low"][0], line["high"][0]
            assert ends == (first, 2.0, 1.0, 3.0)  # the mean of 1, 2 and 3


def test_curves_over_all_axes_of_which_the_files_know_the_places(tasks: Path) -> None:
    for seed in (1, 2):
        folder = with_returns(tasks / "Seeds" / f"seed_{seed}", float(seed))
        (folder / "logs" / "system.csv").write_text(f"step,update,seconds\n100,20,{10 * seed}\n200,40,{40 * seed}\n")
    (tasks / "Seeds" / "group.json").write_text(json.dumps({"seeds": [1, 2]}))
    (tasks / "Seeds" / "config.yaml").write_text("general_cfg: {}\n")
    with served(tasks) as server:
        shown = details(server)
        assert sorted(shown["chart"]["axes"]) == ["environment steps", "episodes", "seconds", "updates"]
        places = lines(shown, "pale")[1]["places"]
        at = places["environment steps"].index(150)
        assert [places[axis][at] for axis in ("episodes", "updates", "seconds")] == [15, 30, 50]  # from 20 to 80 s
        assert len(lines(shown, "first")) == 4, "a mean over each axis"


def test_experiments_have_a_mean_each(tasks: Path) -> None:
    for name in ("a", "b"):
        (tasks / "Runs").mkdir(parents=True, exist_ok=True)
        (tasks / "Runs" / f"{name}.yaml").write_text("general_cfg: {}\n")
        for seed in (1, 2):
            with_returns(tasks / "Runs" / f"{name}_{seed}", float(seed))
    (tasks / "Runs" / "group.json").write_text(json.dumps({"runs": ["a 1", "a 2", "b 1", "b 2"]}))
    with served(tasks) as server:
        shown = details(server)
        assert set(shown["series"].values()) == {"a", "b"}
        means = [line for line in lines(shown, "first") if "environment steps" in line["places"]]
        assert sorted((mean["series"], mean["name"], mean["y"][0]) for mean in means) == [
            ("a", "a of 2 runs", 1.5), ("b", "b of 2 runs", 1.5),
        ]  # fmt: skip


def tuning(tasks: Path, trials: dict[str, dict[str, Any]]) -> Path:
    folder = tasks / "Tune"
    for number, name in enumerate(trials):
        with_returns(folder / "trials" / name, float(number + 1))
    (folder / "config.yaml").write_text(TUNE)
    (folder / "tune.json").write_text(
        json.dumps({"trials": {key: {"settings": value} for key, value in trials.items()}})
    )
    return folder


def settings(lr: Any, gamma: Any) -> dict[str, Any]:
    return {"algo_cfg.lr": lr, "algo_cfg.gamma": gamma}


def test_a_tuning_has_its_trials_and_knows_which_one_runs(tasks: Path) -> None:
    folder = tuning(tasks, {"000": settings(0.01, 0.9), "001": settings(0.001, 0.99), "002": settings(0.1, 0.99)})
    (folder / "trials.csv").write_text(
        "name,state,score,best,step,folder\n000,finished,5.0,6.0,200,trials/000\n001,finished,7.0,7.0,200,trials/001\n"
    )
    lock = held_lock(folder / "trials" / "002")
    assert lock is not None
    with lock, served(tasks) as server:
        shown = details(server)
        assert [(trial["name"], trial["state"], trial["score"]) for trial in shown["trials"]] == [
            ("001", "finished", 7.0), ("000", "finished", 5.0), ("002", "running", None),
        ]  # fmt: skip
        assert shown["settings"] == ["lr", "gamma"]
        assert [axis["name"] for axis in shown["axes"]] == ["lr", "gamma", "score"]
        parallel = {line["name"]: line for line in shown["parallel"]}
        assert parallel["000"]["places"] == pytest.approx([0.5, 0.25, 0.0])  # the middle of a logarithmic axis
        assert parallel["001"]["places"] == pytest.approx([0.0, 0.75, 1.0])
        assert parallel["002"]["places"][2] is None
        curves = lines(shown)
        assert curves[0]["name"] == "002", "those that run come first"
        assert len({line["color"] for line in curves}) == 3
        runs = {run["name"].rpartition("/")[2]: run["id"] for run in now(server)["runs"]}
        assert {trial["name"]: trial["run"] for trial in shown["trials"]} == runs


def test_a_trial_that_was_stopped_early_is_behind_those_that_went_on(tasks: Path, monkeypatch: Any) -> None:
    """As the tuning ranks them, whose best is one of those that came furthest."""
    names = ("000", "001", "002", "003")
    folder = tuning(tasks, {name: settings(0.01, 0.9) for name in names})
    for name, pauses in zip(names, ({"100": {}}, {"100": {}, "300": {}}, {"100": {}}, {}), strict=True):
        facts = json.loads((folder / "trials" / name / "run.json").read_text())
        (folder / "trials" / name / "run.json").write_text(json.dumps(facts | {"pauses": pauses}))
    (folder / "trials.csv").write_text(
        "name,state,score,best,step,folder\n000,paused,9.0,9.0,101,trials/000\n001,paused,5.0,6.0,300,trials/001\n"
        "002,paused,7.0,7.0,104,trials/002\n003,finished,1.0,1.0,900,trials/003\n"
    )
    monkeypatch.setattr(group_view, "MOST_CURVES", 2)
    with served(tasks) as server:
        shown = details(server)
        assert [trial["name"] for trial in shown["trials"]] == ["003", "001", "000", "002"]
        assert {line["name"] for line in lines(shown)} == {"003", "001"}


def test_settings_that_matter_are_told_once_enough_trials_have_a_score(tasks: Path) -> None:
    pytest.importorskip("optuna")
    trials = {f"{n:03}": settings(0.001 * 1.5**n, 0.9 if n % 2 else 0.99) for n in range(10)}
    folder = tuning(tasks, trials)
    rows = [f"{name},finished,{n}.0,{n}.0,200,trials/{name}" for n, name in enumerate(trials)]
    (folder / "trials.csv").write_text("\n".join(["name,state,score,best,step,folder", *rows, ""]))
    with served(tasks) as server:
        shown = details(server)
        assert shown["scored"] == 10
        assert shown["importance"][0][0] == "algo_cfg.lr"


@pytest.mark.parametrize(
    "facts",
    [
        "{", "[]", '{"trials": 1}', '{"trials": {"000": 1}}', '{"trials": {"000": {"settings": 5}}}',
        '{"trials": {"000": {"settings": {"algo_cfg.lr": "x", "algo_cfg.gamma": 0.9}}}}',
        '{"trials": {"000": {"settings": {"algo_cfg.lr": 1e400, "algo_cfg.gamma": [0.9]}}}}',
        '{"trials": {"<img src=x>": {"settings": {"algo_cfg.lr": 0.01, "algo_cfg.gamma": 0.9}}}, "best": {}}',
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "table", ["", "name\n", "name,score,folder\nx,nan,trials/000\n", "name,score,folder\n0,1e999,\n"]
)
def test_a_tuning_of_a_stranger_costs_no_answer(tasks: Path, facts: str, table: str) -> None:
    folder = tuning(tasks, {"000": settings(0.01, 0.9)})
    (folder / "tune.json").write_text(facts)
    (folder / "trials.csv").write_text(table)
    with served(tasks) as server:
        assert details(server)["id"]
        (folder / "config.yaml").write_text("tune_cfg: {samples: x}\n")
        assert details(server)["id"]


def test_the_curves_of_a_tuning_that_seeks_the_lowest_score_are_those_of_low_ones(
    tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_view, "MOST_CURVES", 2)
    for mode, best in {"min": {"000", "001"}, "max": {"001", "002"}}.items():
        folder = tuning(tasks / mode, {f"00{number}": settings(0.01, 0.9) for number in range(3)})
        (folder / "config.yaml").write_text(TUNE.replace("samples: 2", f"samples: 2, mode: {mode}"))
        rows = [f"00{n},finished,{n}.0,{n}.0,200,trials/00{n}\n" for n in range(3)]
        (folder / "trials.csv").write_text("name,state,score,best,step,folder\n" + "".join(rows))
        with served(tasks / mode) as server:
            shown = details(server)
            assert {line["name"] for line in lines(shown)} == best
            assert "The first 2 have curves." in shown["said"]
            monkeypatch.setattr(group_view, "MOST_CURVES", 3)
            assert "have curves" not in details(server)["said"], "all of them have"
            monkeypatch.setattr(group_view, "MOST_CURVES", 2)


def test_a_run_without_a_score_has_no_curve_before_one_whose_score_is_below_zero(
    tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_view, "MOST_CURVES", 2)
    for seed, best in {1: None, 2: -200.0, 3: -150.0}.items():
        run(tasks / "Seeds" / f"seed_{seed}", best=best)
    (tasks / "Seeds" / "group.json").write_text(json.dumps({"seeds": [1, 2, 3]}))
    (tasks / "Seeds" / "config.yaml").write_text("general_cfg: {}\n")
    with served(tasks) as server:
        assert {line["name"] for line in lines(details(server), "pale")} == {"seed_2", "seed_3"}


def test_many_videos_do_not_hide_the_report(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    for name in ("report.html", "config.yaml", *(f"videos/{number}.gif" for number in range(MOST_FILES + 5))):
        (tmp_path / name).write_text("x")
    shown = [file.name for file in Files().of(tmp_path)]
    assert {"report.html", "config.yaml"} < set(shown)
    assert sum(place.startswith("videos/") for place in shown) == MOST_FILES
