"""Whole runs on dialogues: they are repeated to the byte, and the programs and examples of the page are true."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import dialog as benchmark
from framework.disk.checkpoints import CheckpointStore
from main import main
from tests.tools.distributed import Run, config_of, local, remote
from tests.tools.process import forked_program

ROOT = Path(__file__).parents[3]
PPO = (
    *("--algo", "PPO", "--env", "town", "general_cfg.env_name=dialog", "general_cfg.seed=3", "env_cfg.n_envs=3"),
    *("general_cfg.max_total_step=96", "general_cfg.online_eval_episode=2", "general_cfg.save_fig=false"),
    *("algo_cfg.batch_size=48", "algo_cfg.sgd_batch_size=24", "algo_cfg.k_epochs=2"),
    *("env_cfg.error_value=0.1", "env_cfg.patience=4", "algo_cfg.normalize_reward=true"),
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def results(task: str) -> tuple[bytes, bytes]:
    """The episodes, and all that is known at the end."""
    newest = CheckpointStore(Path(task) / "models").numbers()[-1]
    state = Path(task) / "models" / str(newest) / "state.safetensors"
    return (Path(task) / "results" / "train.csv").read_bytes(), state.read_bytes()


def test_a_run_that_is_resumed_in_mid_dialogue_equals_one_that_was_not_interrupted() -> None:
    assert main([*PPO, "--into", "whole"]) == 0
    assert main([*PPO, "--into", "parts", "--pause-at-step", "48"]) == 0
    before = results("parts")[0]
    assert main(["resume", "./parts"]) == 0
    assert results("parts") == results("whole")
    ended = sum(int(line.split(b",")[4]) for line in before.splitlines()[1:])
    assert ended < 48, "some dialogues were not over"


def test_the_programs_of_the_page_run() -> None:
    """Those with joystick.dialog, and the files that they import, run in test_dialog_composition.py."""
    every = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "dialog.md").read_text(), re.DOTALL)
    blocks = [block for block in every if "from joystick.dialog import" not in block and not block.startswith("# ")]
    assert len(blocks) == 2
    assert len(every) == 6
    for block in blocks:
        done = forked_program(block)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert re.search(r"^\(\d{3}, 53\) \(\d{3}, 22\) ", done.stdout, re.MULTILINE) or "'strict': 1.0" in lines[-2]


def test_dialogues_of_a_worker_are_those_of_one_process() -> None:
    words = ("general_cfg.env_name=dialog", "env_cfg.error_value=0.1")
    alone, apart = config_of("PPO", *words, toy="town"), config_of("PPO", *words, toy="town", workers=1)
    one, other = Run(alone, local(alone)).until(60), Run(apart, remote(apart)).until(60)
    assert one.learned
    assert one.state() == other.state()
    assert one.episodes() == other.episodes()


def test_the_benchmark_counts_exchanges(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main(["--env", "mini", "--seconds", "0.05", "reward=user"]) == 0
    assert json.loads(capsys.readouterr().out)["exchanges"] > 0
