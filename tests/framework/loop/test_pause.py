"""--pause-at-step: training stops at a step, saved, and its plan does not change."""

import json
from pathlib import Path

import pytest

from framework.archive.task_list import find_runs
from framework.disk.checkpoints import CheckpointStore
from main import main

DQN = [
    *("general_cfg.env_name=toy", "env_cfg.id=shifted", "general_cfg.algo_name=DQN", "general_cfg.seed=3"),
    *("general_cfg.max_total_step=360", "general_cfg.online_eval=true", "general_cfg.model_save_fre=100"),
    *("algo_cfg.lr_schedule=linear", "algo_cfg.epsilon={linear: [1.0, 0.1]}", "algo_cfg.learning_starts=50"),
    "algo_cfg.value_layers=[{layer_type: linear, layer_size: 8}]",
    *("general_cfg.iteration_steps=150", "general_cfg.online_eval_episode=2", "general_cfg.save_fig=false"),
]
EQUAL = ("results/train.csv", "results/eval.csv", "results/progress.csv")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def weights(task: str) -> bytes:
    newest = CheckpointStore(Path(task) / "models").numbers()[-1]
    return (Path(task) / "models" / str(newest) / "state.safetensors").read_bytes()


def test_a_run_that_pauses_and_is_resumed_equals_one_that_does_not() -> None:
    assert main([*DQN, "--into", "whole"]) == 0
    assert main([*DQN, "--into", "parts", "--pause-at-step", "230"]) == 0
    facts = json.loads(Path("parts/run.json").read_text())
    assert facts["outcome"] == "paused at step 230"
    assert not facts["finished"]
    assert facts["pauses"]["230"].keys() >= {"step", "update", "mean", "episodes"}
    assert [run.state for run in find_runs("parts", Path())] == ["paused at step 230"]
    assert main(["resume", "./parts", "--pause-at-step", "300"]) == 0, "an iteration and a pause at one step"
    assert main(["resume", "./parts"]) == 0
    facts = json.loads(Path("parts/run.json").read_text())
    assert facts["finished"]
    assert facts["outcome"] == "max_total_step 360 reached"
    assert list(facts["pauses"]) == ["230", "300"]
    for name in EQUAL:
        assert Path("parts", name).read_bytes() == Path("whole", name).read_bytes(), name
    assert weights("parts") == weights("whole")


def test_a_run_that_ends_before_its_pause_is_finished() -> None:
    assert main([*DQN, "general_cfg.max_total_step=60", "--into", "short", "--pause-at-step", "60"]) == 0
    facts = json.loads(Path("short/run.json").read_text())
    assert facts["finished"]
    assert "pauses" not in facts


@pytest.mark.parametrize("words", [["--test", "x"], ["--seeds", "1..2"], ["bench"]])
def test_only_one_training_run_pauses(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*words, "--pause-at-step", "5"])
    assert end.value.code == 2
    assert "--pause-at-step is for training one run" in capsys.readouterr().err


def test_a_run_that_makes_no_steps_cannot_pause_at_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DQN, "general_cfg.collect_traj=true", "--into", "data"]) == 0
    words = [
        "general_cfg.algo_name=BC",
        *DQN[:2],
        "algo_cfg.data=data",
        "general_cfg.max_update=10",
        "--into",
        "copied",
    ]
    assert main([*words, "--pause-at-step", "5"]) == 2
    assert (
        "--pause-at-step counts what is collected, and this run learns from algo_cfg.data alone"
        in capsys.readouterr().err
    )
    assert not Path("copied").exists()
    assert main(words) == 0
    assert main(["film", "copied", "--episode", "1", "env_cfg.id=counter"]) == 2
    assert "--episode 1: the run has no training episode" in capsys.readouterr().err
