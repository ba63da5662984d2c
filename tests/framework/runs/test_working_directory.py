"""An environment or a program that changes the working directory neither splits a run nor hides where it is."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import joystick
from config.read.paths import as_written, fixed
from main import main
from tests.tools.paths import in_the_suite
from tests.tools.process import forking
from tests.tools.short_runs import SMALL_DQN

__all__ = ["forking"]
pytestmark = pytest.mark.usefixtures("forking")

WANDERS = """\
import os

import gymnasium
import numpy as np


class Wanders(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, when="step"):
        self.when, self.steps = when, 0
        self.go("init")

    def go(self, now):
        if now == self.when:
            os.makedirs("else", exist_ok=True)
            os.chdir("else")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.go("reset")
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.steps == 3:
            self.go("step")
        return np.zeros(2, np.float32), float(action), self.steps == 5, False, {}
"""
DQN = (
    *SMALL_DQN, "general_cfg.model_save_fre=20", "general_cfg.collect_traj=true", "general_cfg.max_total_step=60",
    "general_cfg.online_eval_episode=2",
)  # fmt: skip
FILES = {
    "code",
    "config.yaml",
    "run.json",
    "models",
    "results",
    "logs",
    "tb_logs",
    "report.html",
    "params.json",
    ".lock",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with a module of an environment."""
    (tmp_path / "wander.py").write_text(WANDERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "wander", raising=False)  # that of another test, whose file is gone
    yield tmp_path
    os.chdir(tmp_path)


def wandering(when: str) -> list[str]:
    return ["--allow-import", "wander", "general_cfg.env_name=python", "env_cfg.id=wander:Wanders",
            f"env_cfg.when={when}"]  # fmt: skip


def is_whole(task: Path) -> bool:
    return {path.name for path in task.iterdir()} == FILES and (task / "models" / "best").is_dir()


def stray(home: Path) -> list[Path]:
    """Returns what was written to the folder that the environment went to."""
    return [path for path in home.glob("else/**/*") if path.name != "else"]


WHEN = [(when, into) for when in ("init", "reset", "step") for into in (True, False)]


@pytest.mark.parametrize(("when", "into"), in_the_suite(WHEN, ("init", False), ("reset", True), ("step", False)))
def test_an_environment_that_changes_the_working_directory_does_not_split_a_run(
    home: Path, when: str, into: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*wandering(when), *DQN, *(["--into", "run"] if into else [])]) == 0
    said = capsys.readouterr().out
    os.chdir(home)
    [task] = [Path("run")] if into else Path("tasks").iterdir()
    assert is_whole(task)
    assert not stray(home)
    assert f"task directory: {task}\n" in said
    assert f"log           {task}/logs/log.txt\n" in said
    assert str(home) not in said.replace(f"film {home}/run", "").replace(f"test {home}/run", "")
    name = str(task.absolute()) if into else task.name
    assert main(["--allow-import", "wander", "resume", name, "general_cfg.max_total_step=90"]) == 0
    os.chdir(home)
    assert "the resume is exact" not in capsys.readouterr().err
    assert is_whole(task)
    assert not stray(home)
    assert main(["--allow-import", "wander", "evaluate", name, "--out", "scores.jsonl"]) == 0
    os.chdir(home)
    assert main(["--allow-import", "wander", "export", name, "--to", "safetensors", "--out", "a.safetensors"]) == 0
    os.chdir(home)
    assert main(["--allow-import", "wander", "test", name, "--into", "tested"]) == 0
    os.chdir(home)
    assert Path("tested/results/test.csv").exists()
    assert Path("scores.jsonl").exists()
    assert Path("a.json").exists()
    assert not stray(home)


@pytest.mark.parametrize("when", in_the_suite(["init", "step"], "step"))
def test_a_group_and_a_tuning_stay_where_they_were_begun(
    home: Path, when: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for word in DQN if "general_cfg.seed" not in word]
    assert main([*wandering(when), *words, "--seeds", "1,2", "--into", "group"]) == 0
    os.chdir(home)
    assert all(is_whole(Path("group", seed)) for seed in ("seed_1", "seed_2"))
    assert "2 runs, " in (said := capsys.readouterr().out)
    assert "at once: group\n" in said
    Path("tune.yaml").write_text("tune_cfg: {score: evaluation}\nalgo_cfg: {lr: {grid: [0.01, 0.1]}}\n")
    assert main(["tune", "--yaml", "tune.yaml", *wandering(when), *DQN, "general_cfg.iteration_steps=20", "--into",
                 "tuned"]) == 0  # fmt: skip
    os.chdir(home)
    assert all(is_whole(Path("tuned/trials", trial)) for trial in ("000", "001"))
    assert "at once: tuned\n" in (said := capsys.readouterr().out)
    assert "table        tuned/trials.csv\n" in said
    assert main(["tune", "--resume", "tuned", "--allow-import", "wander"]) == 0
    os.chdir(home)
    assert not stray(home)


@pytest.mark.parametrize("word", ["tasks/first", "first"])
def test_what_a_run_begins_with_is_looked_up_where_the_run_was_begun(
    home: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data, weights and experts are opened once the environment is there, which may have gone elsewhere."""
    begun = [*wandering("init"), *DQN]
    assert main([*begun, "--into", "tasks/first"]) == 0
    os.chdir(home)
    assert main([*begun, f"general_cfg.start_from={word}", "--into", "started"]) == 0
    os.chdir(home)
    small = [word for word in DQN if not word.startswith(("algo_cfg", "general_cfg.algo_name"))]
    actor = "algo_cfg.actor_layers=[{layer_type: linear, layer_size: [4], activation: relu}]"
    words = [*wandering("init"), *small, actor, "general_cfg.algo_name=DAgger", f"algo_cfg.expert={word}"]
    assert main([*words, "--into", "asked"]) == 0
    os.chdir(home)
    assert not stray(home)
    assert "weights of tasks/first/models/best" in capsys.readouterr().out
    lost = [*begun, "general_cfg.start_from=frist", "--into", "lost"]
    assert main(lost) == 2
    assert "general_cfg.start_from: 'frist' does not exist; did you mean first?" in capsys.readouterr().err


@pytest.mark.parametrize("data", ["first", "first/results/trajs.pkl", "first/results/*.pkl", "[first]"])
def test_data_are_looked_up_where_the_run_was_begun(home: Path, data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*wandering("step"), *DQN, "--into", "first"]) == 0
    os.chdir(home)
    actor = "algo_cfg.actor_layers=[{layer_type: linear, layer_size: [4], activation: relu}]"
    words = [*wandering("init"), "general_cfg.algo_name=BC", "general_cfg.save_fig=false", "general_cfg.seed=3", actor]
    length = ["general_cfg.max_update=20", "general_cfg.online_eval_episode=2", "algo_cfg.batch_size=4"]
    assert main([*words, *length, f"algo_cfg.data={data}", "--into", "cloned"]) == 0
    os.chdir(home)
    assert main(["--allow-import", "wander", "resume", str(home / "cloned"), "general_cfg.max_update=30"]) == 0
    os.chdir(home)
    assert not stray(home)
    capsys.readouterr()
    assert main([*words, *length, "algo_cfg.data=second", "--into", "lost"]) == 2
    assert "algo_cfg.data: second does not exist" in capsys.readouterr().err
    os.chdir(home)
    Path("bad").mkdir()
    Path("bad/a.npz").write_text("no archive")
    assert main([*words, *length, "algo_cfg.data=bad/*.npz", "--into", "lost"]) == 2
    assert "algo_cfg.data: bad/a.npz: " in capsys.readouterr().err
    os.chdir(home)
    assert not Path("lost").exists()


class Still(gymnasium.Env[Any, Any]):
    """Ends after five steps."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.zeros(2, np.float32), float(action), self.steps == 5, False, {}


@pytest.mark.parametrize("into", ["run", None])
def test_a_program_that_changes_the_working_directory_does_not_split_a_run(home: Path, into: str | None) -> None:
    run = joystick.Run(env=Still, words=DQN, into=into)
    run.train(20)
    (home / "else").mkdir()
    os.chdir("else")
    run.train(20)
    run.save()
    run.restore(run.save().name)
    run.train(20)
    run.close()
    assert run.task.is_absolute()
    assert not list(Path().iterdir())
    os.chdir(home)
    assert run.task == Path("run").absolute() if into else run.task.parent == home / "tasks"
    joystick.register_env("still", Still)
    with joystick.Run.resume(run.task, ["general_cfg.max_total_step=90"]) as again:
        os.chdir("else")
        assert again.count.step == run.count.step
        again.train(20)
    assert not list(Path().iterdir())


def test_a_path_is_shown_as_it_was_written(home: Path) -> None:
    place = fixed(Path("a/b"))
    (home / "else").mkdir()
    os.chdir("else")
    assert place == home / "a" / "b"
    assert as_written(place / "c") == Path("a/b/c")
    assert as_written(home / "a" / "bc") == home / "a" / "bc"
    assert as_written(Path("a/b")) == Path("a/b")
    assert fixed(home / "d") == as_written(home / "d") == home / "d"
