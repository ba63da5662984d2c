"""general_cfg.start_from: a new run begins with the weights of another one that fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framework.disk.checkpoints import CheckpointStore
from main import main

SMALL = "[{layer_type: linear, layer_size: [8], activation: tanh}]"


def run(*words: str) -> int:
    return main(["general_cfg.seed=1", "general_cfg.save_fig=false", "general_cfg.online_eval_episode=1", *words])


def a2c(name: str, *words: str, layers: str = SMALL) -> int:
    return run("--algo", "A2C", "--env", "CartPole-v1", "--into", f"tasks/{name}", "general_cfg.max_total_step=64",
               f"algo_cfg.actor_layers={layers}", f"algo_cfg.critic_layers={layers}", "env_cfg.n_envs=2",
               "algo_cfg.batch_size=16", *words)  # fmt: skip


def weights(name: str, model: int | str = "best") -> dict[str, Any]:
    return CheckpointStore(Path(f"tasks/{name}/models")).read(model, with_journal=False).tree["agent"]["networks"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_weights_of_the_same_name_and_shape_are_taken_and_the_others_are_named(capsys: Any) -> None:
    assert run("--algo", "REINFORCE", "--env", "CartPole-v1", "--into", "tasks/first", "general_cfg.max_episode=4",
               f"algo_cfg.actor_layers={SMALL}") == 0  # fmt: skip
    capsys.readouterr()
    assert a2c("second", "general_cfg.start_from=first", "algo_cfg.lr=1e-12") == 0
    assert "weights of tasks/first/models/best: networks.actor; new: networks.critic\n" in capsys.readouterr().out
    theirs, ours = weights("first"), weights("second")
    for key, value in theirs.items():
        np.testing.assert_allclose(ours[key], value, atol=1e-9)
    wide = SMALL.replace("8", "9")
    assert a2c("third", "general_cfg.start_from=second", "--dry-run", layers=wide) == 0
    shown = capsys.readouterr().out
    assert "networks.actor.2.bias" in shown.partition("new:")[0]
    assert "networks.actor.0.weight (8x4 there, 9x4 here)" in shown
    assert "; networks.actor, networks.critic: the layers differ from those there, and what is taken is of" in shown


@pytest.mark.parametrize(("word", "code"), [("algo_cfg.normalize_obs=true", 2), ("algo_cfg.normalize_obs=false", 0)])
def test_networks_that_differ_by_the_normalization_of_observations_say_so(word: str, code: int, capsys: Any) -> None:
    assert a2c("first", "algo_cfg.normalize_obs=false") == 0
    assert a2c("second", "general_cfg.start_from=first", "--dry-run", word) == code
    shown = "".join(capsys.readouterr())
    assert ("give both the same algo_cfg.normalize_obs" in shown) == (code == 2)


def test_an_algorithm_without_networks_says_so(capsys: Any) -> None:
    assert a2c("first") == 0
    words = ("--algo", "Expert", "--env", "mini", "--into", "tasks/second", "general_cfg.start_from=first")
    assert run(*words, "general_cfg.env_name=dialog") == 2
    assert "a shape of this run's: Expert has no networks" in capsys.readouterr().err


def test_a_run_that_is_resumed_keeps_its_own_weights(capsys: Any) -> None:
    assert a2c("first") == 0
    assert a2c("second", "general_cfg.start_from=first") == 0
    before = weights("second")
    assert main(["resume", "second", "general_cfg.max_total_step=128", "algo_cfg.lr=1e-12"]) == 0
    for key, value in weights("second").items():
        np.testing.assert_allclose(value, before[key], atol=1e-9)
    assert main(["resume", "second", "general_cfg.start_from=second"]) == 2
    assert "cannot change in a resumed run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "general_cfg.start_from: 'nowhere' does not exist"),
        (
            "first",
            "no weights of tasks/first/models/best have a name and a shape of this run's; here are network.0.weight",
        ),
    ],
)
def test_a_run_without_weights_that_fit_is_refused_before_there_is_a_folder(
    name: str, message: str, capsys: Any
) -> None:
    assert a2c("first") == 0
    words = ("--algo", "DQN", "--env", "CartPole-v1", "--into", "tasks/second", f"general_cfg.start_from={name}")
    assert run(*words) != 0
    assert message in capsys.readouterr().err
    assert not Path("tasks/second").exists()
