"""JoyRL's quick start, in its own words: a run is continued and tested, and its trajectories are read."""

import pickle
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import joystick
from config.program import PROGRAM
from framework.disk.csv_table import read_csv
from framework.distributed import launch
from main import main
from tests.tools.process import forked_program

ROOT = Path(__file__).parents[2]
NAME = "Train_CartPole-v1_DQN_20221026-054757"
QUICK_START = ["--yaml", str(ROOT / "tests/data/quickstart.yaml"), "general_cfg.save_fig=false"]
CONTINUED = f"""
general_cfg:
  load_checkpoint: true # 加载模型
  load_path: {NAME} # tasks文件夹下的模型路径
  mode: train
"""
TESTED = CONTINUED.replace("mode: train", "mode: test")


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of the quick start under the name that its words on continuing have, of 3 episodes."""
    monkeypatch.chdir(tmp_path)
    Path("continue.yaml").write_text(CONTINUED, encoding="utf-8")
    Path("test.yaml").write_text(TESTED, encoding="utf-8")
    assert main([*QUICK_START, "general_cfg.max_episode=3", "--into", f"tasks/{NAME}"]) == 0
    return tmp_path / "tasks" / NAME


def longer(printed: str) -> list[str]:
    """Arguments of the command that trains as much again."""
    [command] = re.findall(rf"to train as much again: {re.escape(PROGRAM)} (.*)", printed)
    return shlex.split(command)


def test_the_words_that_continue_a_run_say_what_trains_as_much_again(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In JoyRL they train for max_episode again; here max_episode counts from the beginning of the run."""
    capsys.readouterr()
    assert main(["--yaml", "continue.yaml"]) == 0
    printed = capsys.readouterr().out
    assert "continue.yaml sets nothing under algo_cfg, env_cfg: the settings of the run are used" in printed
    assert "nothing was left to train: max_episode 3 reached; to train as much again: " in printed
    assert longer(printed) == ["resume", f"tasks/{NAME}", "general_cfg.max_episode=6"]
    for episodes in (6, 12):
        assert main(longer(printed)) == 0
        assert len(read_csv(trained / "results/train.csv")) == episodes
        capsys.readouterr()
        assert main(["--yaml", "continue.yaml"]) == 0
        printed = capsys.readouterr().out
    assert longer(printed) == ["resume", f"tasks/{NAME}", "general_cfg.max_episode=24"]


def test_the_words_that_test_a_run_use_its_settings_and_say_so(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["--yaml", "test.yaml"]) == 0
    assert "test.yaml sets nothing under algo_cfg, env_cfg: the settings of the run are used" in capsys.readouterr().out
    [folder] = Path("tasks").glob("Test_*")
    tested, run = (yaml.safe_load((path / "config.yaml").read_text()) for path in (folder, trained))
    assert tested["algo_cfg"] == run["algo_cfg"]
    assert tested["env_cfg"]["id"] == run["env_cfg"]["id"]


@pytest.mark.parametrize(
    ("limits", "again"),
    [
        (["general_cfg.max_total_step=40"], "general_cfg.max_total_step=80"),
        (["general_cfg.max_update=20", "general_cfg.max_episode=1"], "general_cfg.max_episode=2"),
        (["general_cfg.max_iteration=2", "general_cfg.iteration_steps=20"], "general_cfg.max_iteration=4"),
        (["general_cfg.stop_return=1"], None),
    ],
)
def test_each_limit_is_answered_with_a_higher_one(
    limits: list[str], again: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    free = ["general_cfg.max_episode=-1"]
    small = ["algo_cfg.value_layers=[{layer_type: linear, layer_size: 8}]"]
    words = ["general_cfg.online_eval=false", "general_cfg.collect_traj=false", *small, *free, *limits]
    assert main([*QUICK_START, *words, "--into", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["resume", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert "nothing was left to train" in printed
    if again is None:
        assert "; a higher limit continues" in printed
    else:
        assert longer(printed)[2:] == [again]


@pytest.mark.parametrize(
    ("episodes", "said"), [(3, "warning: 4 episodes for max_episode 3: the last round, of 20 steps,"), (4, "")]
)
def test_a_line_says_when_whole_windows_play_more_episodes_than_asked(
    episodes: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of windows of 20 steps, each of which ends two episodes of 10."""
    words = ["general_cfg.algo_name=A2C", "general_cfg.env_name=toy", "env_cfg.id=counter", "algo_cfg.batch_size=20"]
    limit = [f"general_cfg.max_episode={episodes}", "general_cfg.max_step=10", "general_cfg.save_fig=false"]
    limit.append("general_cfg.preset=null")
    assert main([*words, *limit, "--into", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert len(read_csv(tmp_path / "run/results/train.csv")) == 4
    assert said in printed
    assert ("was played to its end" in printed) == bool(said)


# trajectories --------------------------------------------------------------------------------------------------


def pieces(page: str, heading: str) -> list[str]:
    """Python programs below a heading of a page."""
    section = (ROOT / "docs" / page).read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_trajectories_are_read_by_code_that_was_written_for_lists_of_steps(trained: Path) -> None:
    """What JoyRL's recorder writes: keys, an entry per episode, a value per step. No package of ours is needed."""
    with open(trained / "results/trajs.pkl", "rb") as f:
        trajs = pickle.load(f)
    assert {"state", "action", "reward", "next_state", "terminated", "info"} <= trajs.keys()
    transitions = []
    for i_ep in range(len(trajs["state"])):
        for t in range(len(trajs["state"][i_ep])):
            state, action, reward, next_state, terminated, info = (
                trajs[key][i_ep][t] for key in ("state", "action", "reward", "next_state", "terminated", "info")
            )
            transitions.append((state, int(action), float(reward), next_state, bool(terminated), dict(info)))
    rows = read_csv(trained / "results/train.csv")
    assert [len(episode) for episode in trajs["reward"]] == [row["length"] for row in rows]
    assert [sum(episode) for episode in trajs["reward"]] == [row["return"] for row in rows]
    assert len(transitions) == sum(int(row["length"]) for row in rows)
    assert transitions[0][0].shape == (4,)
    assert {action for _, action, *_ in transitions} == {0, 1}
    flat = np.array([state for episode in trajs["state"] for state in episode])
    assert flat.shape == (len(transitions), 4)
    for states, following in zip(trajs["state"], trajs["next_state"], strict=True):
        np.testing.assert_array_equal(np.array(states)[1:], np.array(following)[:-1])


def test_the_program_of_the_page_makes_lists_of_trajectories(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained / "results")
    [program] = pieces("joyrl.md", "Trajectories, in code for JoyRL's lists")
    names: dict[str, Any] = {}
    exec(program, names)
    trajs = names["trajs"]
    assert all(type(episode) is list for episodes in trajs.values() for episode in episodes)
    steps = sum(len(episode) for episode in trajs["reward"])
    assert len(trajs["state"][0] + trajs["state"][1] + trajs["state"][2]) == steps
    assert all(trajs["terminated"])


# the loop ------------------------------------------------------------------------------------------------------


def test_the_loop_of_the_page_trains_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [program] = pieces("joyrl.md", "The loop of the quick start, in Python")
    assert "range(100)" in program
    monkeypatch.chdir(tmp_path)
    done = forked_program(program.replace("range(100)", "range(20)"))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 60  # a random policy has 20, an untrained one 9
    assert not list(tmp_path.iterdir())


# a folder that exists ------------------------------------------------------------------------------------------


RAY = ["general_cfg.mp_backend=ray", "general_cfg.n_workers=2"]
TRIED = "algo_cfg:\n  lr: {grid: [1e-3, 1e-4]}\n"


@pytest.mark.parametrize(
    "words",
    [
        [*QUICK_START, *RAY],
        [*QUICK_START, *RAY, "--dry-run"],
        [*QUICK_START, "--dry-run"],
        ["tune", "--yaml", "grid.yaml"],
        ["tune", "--yaml", "grid.yaml", "--dry-run"],
    ],
)
def test_a_folder_that_exists_is_refused_before_anything_is_started(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*args: Any) -> None:
        raise AssertionError("Ray was started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "backend", started)
    Path("grid.yaml").write_text(TRIED)
    Path("taken").mkdir()
    assert main([*words, "--into", "taken"]) == 2
    out, err = capsys.readouterr()
    *notes, error = err.splitlines()
    assert error == "error: taken exists; --into names a new folder"
    assert all(note.startswith("JoyRL's ") for note in notes)
    assert not out
    assert not list(Path("taken").iterdir())
    Path("taken/run.json").touch()
    assert main([*words, "--into", "taken"]) == 2
    assert "to go on with what was begun there: python main.py resume taken" in capsys.readouterr().err


def test_a_program_is_told_of_a_folder_that_exists_before_ray_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*args: Any) -> None:
        raise AssertionError("Ray was started")

    monkeypatch.setattr(launch, "backend", started)
    with pytest.raises(joystick.JoystickError, match="exists; --into names a new folder"):
        joystick.Run("DQN", "CartPole-v1", into=tmp_path, general_cfg={"mp_backend": "ray"})
