"""What the end of a run says about numbers that show why it learns badly."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space

from config.model.arrays import Part
from config.model.layers import Parts, mlp
from config.read.loader import RunConfig, load
from framework.catalog import ALGOS, ENVS
from framework.disk.csv_table import Table
from framework.runs.remarks import beforehand, faults, largest_value
from main import main

TWO_ACTIONS = Discrete(2)


def config_of(algo: str, **settings: Any) -> RunConfig:
    values = {"general_cfg": {"algo_name": algo, "preset": None}, "algo_cfg": settings}
    return load(None, find_algo=ALGOS, find_env=ENVS, values=values)


def said(algo: str, columns: dict[str, list[float]], is_poor: bool = True, space: Space = TWO_ACTIONS) -> str:
    table = Table({"return": np.array([9.0, -20.0]), "length": np.array([9.0, 10.0]),
                   **{name: np.array(values) for name, values in columns.items()}})  # fmt: skip
    return " ".join(faults(config_of(algo, gamma=0.99), space, table, is_poor))


def test_exploration_that_has_not_come_down_is_said() -> None:
    assert said("DQN", {"epsilon": [1.0, 0.75]}).startswith("75% of the actions were still random")
    assert "algo_cfg.epsilon_decay is 500 steps" in said("DQN", {"epsilon": [1.0, 0.75]}, is_poor=False)
    assert not said("DQN", {"epsilon": [1.0, 0.5]})


def test_a_policy_that_tries_nothing_is_said_if_it_is_no_better_than_chance() -> None:
    assert "certain of its actions (entropy 0)" in said("PPO", {"entropy": [0.69, 0.0]})
    assert "certain" in said("PPO", {"entropy": [0.0, np.nan]}), "the last window has no update yet"
    assert not said("PPO", {"entropy": [0.69, 0.0]}, is_poor=False), "it may have learned all there is"
    assert not said("PPO", {"entropy": [0.69, 0.1]})
    assert not said("PPO", {"entropy": [1.4, 0.0]}, space=Box(-1, 1)), "a density, which may pass 0"


def test_values_beyond_what_rewards_allow_are_said() -> None:
    assert largest_value(config_of("DQN", gamma=0.9), Table({"return": np.array([9.0, -20.0]),
                         "length": np.array([9.0, 10.0])})) == pytest.approx(30.0)  # fmt: skip
    assert "q_mean is 6001, and the rewards and algo_cfg.gamma allow about 300" in said("DQN", {"q_mean": [1, 6001]})
    assert "q_mean is -6001" in said("DQN", {"q_mean": [1, -6001]})
    assert not said("DQN", {"q_mean": [6001, 5999]}), "estimates are usually some times too large"


def test_numbers_without_a_fault_or_an_episode_say_nothing() -> None:
    assert not said("DQN", {"epsilon": [1.0, 0.04], "q_mean": [3.0, 90.0]})
    assert not list(faults(config_of("DQN", gamma=1.0), TWO_ACTIONS, Table({"q_mean": np.array([1e9])}), is_poor=True))
    assert not list(faults(config_of("DQN"), TWO_ACTIONS, Table({"q_mean": np.array([1e9])}), is_poor=True))
    assert not list(faults(config_of("PPO"), TWO_ACTIONS, Table({}), is_poor=True))


def test_a_run_that_dice_played_says_so_at_its_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["general_cfg.max_total_step=1000", "algo_cfg.train_fre=100", "general_cfg.online_eval=false"]
    words += ["algo_cfg.learning_starts=100", "general_cfg.online_eval_episode=1", "general_cfg.save_fig=false"]
    assert main(["--algo", "DQN", *words, "algo_cfg.epsilon_decay=1000000", "--into", "tasks/dice"]) == 0
    assert "100% of the actions were still random at the end" in capsys.readouterr().out
    assert "100% of the actions were still random at the end" in Path("tasks/dice/report.html").read_text()
    assert main(["--algo", "DQN", *words, "algo_cfg.epsilon_decay=100", "--into", "tasks/few"]) == 0
    assert "still random" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("algo", "words", "text"),
    [
        ("DQN", ["learning_starts=10000"], "ends at step 600, before its first update: algo_cfg.learning_starts or"),
        ("DQN", ["learning_starts=600"], ""),
        ("DQN", ["learning_starts=700", "train_fre=256"], ""),  # it ends at step 768
        ("DQN", ["learning_starts=100", "train_fre=5000"], "takes 5,000 steps: the limit of 600 is checked every 5"),
        ("PPO", ["batch_size=100000"], "takes 100,000 steps: the limit of 600 is checked every 100,000 steps; a "
         "smaller algo_cfg.batch_size"),
        ("PPO", ["batch_size=1024"], ""),
        ("DQN", ["learning_starts=100", "train_fre=1", "env_cfg.n_envs=2000"], "takes 2,000 steps: the limit of 600 is "
         "checked every 2,000 steps; a smaller env_cfg.n_envs"),
        ("SAC_D", ["learning_starts=100", "start_steps=600"], "all of its actions are random: algo_cfg.start_steps is"),
        ("SAC_D", ["learning_starts=100", "start_steps=599"], ""),
    ],
)  # fmt: skip
def test_what_the_limit_of_steps_leaves_no_room_for_is_said_before_the_run(
    algo: str, words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [word if "." in word else f"algo_cfg.{word}" for word in words]
    general = ["general_cfg.preset=null", "general_cfg.max_total_step=600"]
    assert main(["--algo", algo, "--env", "CartPole-v1", *general, *settings, "--dry-run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert text in shown if text else not shown.count(" note ")


def test_a_run_that_needs_steps_of_its_own_beside_data_says_too_that_they_are_too_few(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["general_cfg.preset=null", "general_cfg.max_total_step=60", "general_cfg.save_fig=false"]
    collect = ["general_cfg.collect_traj=true", "general_cfg.online_eval_episode=1", "--into", "tasks/data"]
    collect += ["general_cfg.seed=1", "general_cfg.max_total_step=300"]  # enough for an episode to end
    assert main(["--algo", "DQN", *words, *collect]) == 0
    data = ["algo_cfg.data=tasks/data", "algo_cfg.data_share=0.5", "algo_cfg.learning_starts=1000", "--dry-run"]
    for more, count in ([], 1), (["algo_cfg.offline_updates=10"], 0):
        capsys.readouterr()
        assert main(["--algo", "SAC_D", *words, *data, *more]) == 0
        assert capsys.readouterr().out.count("before its first update") == count


@pytest.mark.parametrize(
    ("parts", "branches", "count"),
    [
        ([Part("img", 0, 1200, (20, 20, 3)), Part("speed", 1200, 1203, (3,))], None, 1),
        ([Part("img", 0, 1200, (20, 20, 3))], {"img": []}, 0),
        ([Part("img", 0, 1200, (3, 20, 20))], {"other": []}, 1),
        ([Part("grid", 0, 147, (7, 7, 3)), Part("rows", 147, 547, (20, 20))], None, 0),
    ],
)
def test_an_image_that_linear_layers_get_is_said_before_the_run(parts: list[Part], branches: Any, count: int) -> None:
    policy: Any = SimpleNamespace(
        algo=SimpleNamespace(branches=branches), spec=SimpleNamespace(parts=parts), section="algo_cfg", memory=None
    )
    config: Any = SimpleNamespace(general=SimpleNamespace(max_total_step=-1))
    remarks = list(beforehand(config, SimpleNamespace(learning=[policy], fragment=1), 1))  # type: ignore[arg-type]
    assert remarks == [
        "linear layers get the image img of the observation as 1,200 numbers; algo_cfg.branches={img: []} gives it "
        "convolutions"
    ] * count  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "count"), [(("speed", "speed"), 0), (("speed", "img"), 1), (("speed", None), 1), ((None, None), 1)]
)
def test_an_image_that_no_network_sees_is_not_told(seen: tuple[str | None, ...], count: int) -> None:
    lists = [[*([Parts(names=[name])] if name else []), *mlp(8)] for name in seen]
    parts = [Part("img", 0, 1200, (20, 20, 3)), Part("speed", 1200, 1203, (3,))]
    algo = SimpleNamespace(branches=None, actor_layers=lists[0], critic_layers=lists[1])
    policy: Any = SimpleNamespace(algo=algo, spec=SimpleNamespace(parts=parts), section="algo_cfg", memory=None)
    config: Any = SimpleNamespace(general=SimpleNamespace(max_total_step=-1))
    assert len(list(beforehand(config, SimpleNamespace(learning=[policy], fragment=1), 1))) == count  # type: ignore[arg-type]


def test_a_policy_of_all_agents_has_the_section_of_the_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mpe2")
    words = ["general_cfg.preset=null", "general_cfg.max_total_step=20", "--dry-run"]
    assert main(["--algo", "PPO", "--env", "mpe/simple_spread_v3", *words]) == 0
    assert "a smaller algo_cfg.batch_size" in " ".join(capsys.readouterr().out.split())


def test_a_run_without_room_for_an_update_says_so_first_and_a_resume_of_it_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["general_cfg.online_eval=false", "general_cfg.online_eval_episode=1", "general_cfg.save_fig=false"]
    words += ["algo_cfg.learning_starts=1000", "general_cfg.max_total_step=100", "algo_cfg.train_fre=1"]
    assert main(["--algo", "DQN", *words, "--into", "tasks/short"]) == 0
    assert "the run ends at step 100, before its first update" in capsys.readouterr().out.partition("evaluation:")[0]
    assert main(["resume", "short", "general_cfg.max_total_step=200"]) == 0
    assert "before its first update" not in capsys.readouterr().out
