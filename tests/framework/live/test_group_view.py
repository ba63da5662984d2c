"""A group and a tuning as the page of the command watch shows them while they run."""

import json
from pathlib import Path
from typing import Any

import pytest

from framework.disk.task_dir import held_lock
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


def test_seeds_have_their_mean_and_its_interval(tasks: Path) -> None:
    for seed in (1, 2, 3):
        with_returns(tasks / "Seeds" / f"seed_{seed}", float(seed))
    (tasks / "Seeds" / "group.json").write_text(json.dumps({"seeds": [1, 2, 3]}))
    (tasks / "Seeds" / "config.yaml").write_text("general_cfg: {}\n")
    with served(tasks) as server:
        shown = details(server)
        assert len(shown["curves"]) == 3
        [mean] = shown["means"]
        assert (mean["runs"], mean["interval"]) == (3, "95 % interval")
        assert mean["points"][0] == [10.0, 2.0]  # the mean of 1, 2 and 3
        assert mean["band"][0] == [10.0, 1.0, 3.0]
        assert shown["over"] == "environment steps"


def test_experiments_have_a_mean_each(tasks: Path) -> None:
    for name in ("a", "b"):
        (tasks / "Runs").mkdir(parents=True, exist_ok=True)
        (tasks / "Runs" / f"{name}.yaml").write_text("general_cfg: {}\n")
        for seed in (1, 2):
            with_returns(tasks / "Runs" / f"{name}_{seed}", float(seed))
    (tasks / "Runs" / "group.json").write_text(json.dumps({"runs": ["a 1", "a 2", "b 1", "b 2"]}))
    with served(tasks) as server:
        shown = details(server)
        assert {line["series"] for line in shown["curves"]} == {"a", "b"}
        assert sorted((mean["series"], mean["points"][0][1]) for mean in shown["means"]) == [("a", 1.5), ("b", 1.5)]


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
        lines = {line["name"]: line for line in shown["parallel"]}
        assert lines["000"]["places"] == pytest.approx([0.5, 0.25, 0.0])  # the middle of a logarithmic axis
        assert lines["001"]["places"] == pytest.approx([0.0, 0.75, 1.0])
        assert lines["002"]["places"][2] is None
        assert shown["curves"][0]["name"] == "002", "those that run come first"
        assert len({line["color"] for line in shown["curves"]}) == 3


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
