"""Trajectories and traces of several agents: a trajectory and steps for each agent, by name, in the environment's own
values."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framework.dataset.trace_reader import read_traces
from framework.dataset.trajectories import read
from framework.disk.csv_table import read_csv
from main import main
from tests.framework.record.test_traces import killed_after, written
from tests.tools.paths import in_the_suite

SMALL = "[{layer_type: linear, layer_size: [8]}]"
PPO = ["batch_size=64", "sgd_batch_size=32", f"actor_layers={SMALL}", f"critic_layers={SMALL}"]
DQN = ["algo_name=DQN", f"value_layers={SMALL}", "batch_size=16", "learning_starts=150"]
FIXED = ["algo_name=DQN", "train=false", f"value_layers={SMALL}"]
TRAFFIC = {"car1": ["agents=car_*", *PPO], "car2": ["agents=car_*", *DQN], "light": ["agents=light_*", *FIXED]}
ONE = {"all": ["agents=*", *PPO]}


def words(toy: str, policies: dict[str, list[str]], steps: int, *more: str) -> list[str]:
    general = [
        "--algo=PPO", "general_cfg.env_name=toy", f"env_cfg.id={toy}", "env_cfg.n_envs=2", "general_cfg.seed=3",
        "general_cfg.save_fig=false", "general_cfg.max_episode=-1", f"general_cfg.max_total_step={steps}",
        "general_cfg.online_eval_episode=2", "general_cfg.model_save_unit=step", "general_cfg.model_save_fre=100",
        "general_cfg.collect_traj=true", "general_cfg.traces=results/traces", "general_cfg.max_step=40",
    ]  # fmt: skip
    toys = ["env_cfg.cars=4", "env_cfg.lights=2"] if toy == "traffic" else []
    return [*general, *toys, *(f"policies_cfg.{name}.{word}" for name in policies for word in policies[name]), *more]


def train(folder: Path, *given: Any) -> Path:
    assert main([*words(*given), "--into", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which two policies draw the same agents, cars leave at random, and lights act at every third step."""
    return train(tmp_path_factory.mktemp("runs") / "run", "traffic", TRAFFIC, 400)


def trajectories(task: Path) -> dict[tuple[int, str], list[dict[str, Any]]]:
    """Trajectories by seed and policy."""
    content = read(task / "results/trajs.pkl")
    found: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for number in range(len(content["state"])):
        one = {name: column[number] for name, column in content.items()}
        found[one["info"][0]["seed"], one["info"][0]["policy"]].append(one)
    return found


def test_each_agent_has_a_trajectory_and_its_rewards_are_its_return(traffic: Path) -> None:
    rows, found = read_csv(traffic / "results/train.csv"), trajectories(traffic)
    steps = read_traces(traffic / "results/traces")
    assert len(rows) > 10
    assert len({seed for seed, _ in found}) == len(rows)
    assert set(steps) == set(TRAFFIC)
    for row in rows:
        agents = []
        for policy in TRAFFIC:
            whole, its = found[row["seed"], policy], steps[policy]
            mine = its["eps_id"] == row["seed"]
            names = [one["info"][0]["agent"] for one in whole]
            agents += names
            assert set(its["agent_id"][mine]) == set(names)
            if not whole:  # every car was drawn by the other policy
                assert np.isnan(row[f"return_{policy}"])
                continue
            mean = sum(one["reward"].sum() for one in whole) / len(whole)
            assert mean == pytest.approx(row[f"return_{policy}"])
            assert its["rewards"][mine].sum() / len(whole) == pytest.approx(mean)
            for one in whole:
                facts, agent = one["info"][0], mine & (its["agent_id"] == one["info"][0]["agent"])
                assert (facts["worker"], facts["row"]) == (row["worker"], row["row"])
                assert np.array_equal(one["state"][1:], one["next_state"][:-1])
                ended = (one["terminated"] | one["truncated"]).tolist()
                assert ended == [False] * (len(ended) - 1) + [True]
                acts = agent & its["acts"]
                assert np.array_equal(its["obs"][acts], one["state"])
                assert np.array_equal(its["actions"][acts], one["action"])
                assert its["t"][agent].tolist() == list(range(agent.sum()))
                assert its["terminateds"][agent][-1] == one["terminated"][-1]
                assert its["dones"][agent].tolist() == [False] * (agent.sum() - 1) + [True]
        assert sorted(agents) == ["car_0", "car_1", "car_2", "car_3", "light_0", "light_1"]
        assert sum(its["rewards"][its["eps_id"] == row["seed"]].sum() for its in steps.values()) == row["return"]
    assert "action_logp" in steps["car1"]
    assert "action_logp" not in steps["car2"]


def test_a_scripted_episode_gives_the_trajectories_that_its_table_says(tmp_path: Path) -> None:
    found = trajectories(train(tmp_path / "run", "scripted", ONE, 12))
    (p, q, r), _ = found.values()
    assert [one["info"][0]["agent"] for one in (p, q, r)] == ["p", "q", "r"]
    assert p["state"].ravel().tolist() == [0, 1, 2, 3, 4, 5]
    assert p["reward"].tolist() == [1, 2, 3, 4, 5, 6]
    assert q["next_state"].ravel().tolist() == [11, 12]
    assert r["state"].ravel().tolist() == [23, 24, 25]
    assert r["reward"].tolist() == [-4, -5, -6]
    assert [one["terminated"][-1] for one in (p, q, r)] == [True, True, False]
    assert [one["truncated"][-1] for one in (p, q, r)] == [False, False, True]
    assert [len(one["info"]) for one in (p, q, r)] == [6, 2, 3]
    assert p["info"][1] == {}


def test_agents_with_changing_names_keep_their_own(tmp_path: Path) -> None:
    """One low-level agent at a time, in one slot; a goal is paid for when its round is over."""
    policies = {"high": ["agents=high_level", *PPO], "low": ["agents=low_level_*", *FIXED]}
    task = train(tmp_path / "run", "levels", policies, 60)
    found, steps = trajectories(task), read_traces(task / "results/traces")
    for row in read_csv(task / "results/train.csv"):
        low, (high,) = found[row["seed"], "low"], found[row["seed"], "high"]
        assert [one["info"][0]["agent"] for one in low] == ["low_level_0", "low_level_1", "low_level_2"]
        assert [len(one["reward"]) for one in low] == [4, 4, 4]
        assert len(high["reward"]) == 3
        assert all((one["state"].argmax(1) == goal).all() for one, goal in zip(low, high["action"], strict=True))
        mine = steps["low"]["eps_id"] == row["seed"]
        assert steps["low"]["agent_id"][mine].tolist() == [name for n in range(3) for name in [f"low_level_{n}"] * 4]


def test_agents_that_are_controlled_as_one_have_trajectories_of_their_own(tmp_path: Path) -> None:
    joint = {"both": ["agents=pole_*", "joint=true", *PPO]}
    task = train(tmp_path / "run", "poles", joint, 150)
    found, steps = trajectories(task), read_traces(task / "results/traces")["both"]
    for row in read_csv(task / "results/train.csv"):
        poles = found[row["seed"], "both"]
        assert [one["info"][0]["agent"] for one in poles] == sorted(one["info"][0]["agent"] for one in poles)
        assert sum(one["reward"].sum() for one in poles) == row["return"]
        assert all(one["state"].shape == (len(one["reward"]), 4) for one in poles)
    assert steps["obs"].shape[1:] == (4,)
    assert len(steps["action_logp"]) == len(steps["obs"])


@pytest.mark.parametrize("rounds", in_the_suite([73, 131], 131))
def test_a_run_that_was_killed_and_resumed_has_the_records_of_one_that_was_not(
    rounds: int, traffic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RES-4: running trajectories, whose first steps were before the checkpoint, are whole."""
    cut = tmp_path / "cut"
    killed_after(rounds, words("traffic", TRAFFIC, 400), cut, monkeypatch)
    assert main(["--resume", str(cut)]) == 0
    assert written(cut) == written(traffic)
    assert (cut / "results/trajs.pkl").read_bytes() == (traffic / "results/trajs.pkl").read_bytes()


def test_a_test_writes_a_trajectory_for_each_agent(traffic: Path, tmp_path: Path) -> None:
    test = tmp_path / "test"
    assert main(["test", str(traffic), "--episodes", "3", "--into", str(test), "general_cfg.collect_traj=true"]) == 0
    found = trajectories(test)
    for row in read_csv(test / "results/test.csv"):
        lights = found[row["seed"], "light"]
        assert sum(one["reward"].sum() for one in lights) / 2 == pytest.approx(row["return_light"])
