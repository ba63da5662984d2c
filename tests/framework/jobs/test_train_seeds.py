"""joystick.train: several seeds by one call of a program, with classes that no other process can import."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import joystick
from framework.disk.csv_table import read_csv
from framework.disk.task_dir import add_facts
from framework.jobs import own_objects, seeds
from framework.runs import signals
from tests.tools.process import forked_program, forking

__all__ = ["forking"]

SHORT = {"max_total_step": 200, "online_eval_episode": 2, "save_fig": False, "loggers": ["csv"]}
PROGRAM = (
    f"SHORT = {SHORT}"
    + """
import gymnasium, joystick, numpy as np

class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), float(action), self.steps == 5, False, {}

group = joystick.train("PPO", Line, seeds=2, into="tasks/line", general_cfg=SHORT, algo_cfg={"batch_size": 64})
print(group)
print(group.seeds, [path.name for path in group.runs], group.best.name)
print(joystick.load(group.best).act([0.0]))
"""
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)


class Unsendable(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 0.0, True, False, {}


@pytest.mark.run
@pytest.mark.usefixtures("forking")
def test_a_class_of_the_program_is_trained_with_each_seed_in_a_process_of_its_own() -> None:
    done = forked_program(PROGRAM)
    assert done.returncode == 0, done.stderr
    assert "PPO on Line, 2 seeds: tasks/line" in done.stdout
    assert "[1, 2] ['seed_1', 'seed_2'] seed_" in done.stdout
    assert [row["status"] for row in read_csv(Path("tasks/line/seeds.csv"))] == [0, 0]
    group = joystick.TrainedGroup("line")
    page = group._repr_html_()
    assert "2 of 2 seeds" in page
    assert not {"script", "link", "iframe"} & set(Tags(page).seen)
    assert group.plot()._repr_png_()[:4] == b"\x89PNG"
    assert [row["step"] for row in group.results] == [joystick.TrainedGroup(group).results[0]["step"]] * 2
    assert joystick.train(resume="line", progress=False).folder == group.folder  # nothing is left to train


def made(monkeypatch: pytest.MonkeyPatch, folder: Path, status: int) -> None:
    """Lets a group be of these files, in place of training it."""
    (folder / "seed_1").mkdir(parents=True)
    (folder / "group.json").write_text('{"seeds": [1, 2]}')
    config = types.SimpleNamespace(allow_import=("mine",))
    work = types.SimpleNamespace(folder=folder, runs={}, turns={}, config=config)
    monkeypatch.setattr("framework.jobs.many_runs.begin", lambda *words: (work, status))
    monkeypatch.setattr("framework.jobs.many_runs.resume", lambda *words: (work, status))


def test_a_group_that_was_interrupted_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, Path("tasks/x"), 128 + signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match=r"train\(resume='tasks/x', allow_import=\['mine'\]\) goes"):
        joystick.train("PPO", "CartPole-v1", seeds=2)


def test_a_group_goes_on_with_the_packages_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, Path("tasks/x"), 0)
    given = {}
    monkeypatch.setattr("framework.jobs.members.unfinished", lambda folder: ["seed_2"])
    monkeypatch.setattr("framework.jobs.members.with_settings", lambda *words, **options: given.update(options))
    assert joystick.train(resume="x", allow_import=["mine"], progress=False).seeds == [1, 2]
    assert given["allow_import"] == ("mine",)
    with pytest.raises(joystick.ConfigError, match="allow_import: got text; expected a list"):
        joystick.train(resume="x", allow_import="mine")

    def refuse(*words: Any, **options: Any) -> None:
        raise joystick.ConfigError("imports mine; to allow it, add --allow-import mine")

    monkeypatch.setattr("framework.jobs.members.with_settings", refuse)
    with pytest.raises(joystick.ConfigError, match=r'to allow it, add allow_import=\["mine"\]$'):
        joystick.train(resume="x", progress=False)


def test_a_group_of_which_nothing_is_there_yet_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, Path("tasks/<b>x"), 0)
    group = joystick.train("PPO", "CartPole-v1", seeds=2)
    page = group._repr_html_()
    assert "0 of 2 seeds" in page
    assert page.count("<b>") == 1
    assert "no run finished" in repr(group)
    for call in (group.plot, lambda: group.best):
        with pytest.raises(joystick.JoystickError, match=r"no run of .* has an? \w+ yet"):
            call()


@pytest.mark.parametrize(
    ("words", "error", "answer"),
    [
        ({"seeds": 0}, joystick.ConfigError, "expected whole numbers from 1 on, each once"),
        ({"seeds": [1, 1]}, joystick.ConfigError, "each once"),
        ({"seeds": [-1]}, joystick.ConfigError, "expected whole numbers"),
        ({"seeds": "3"}, joystick.ConfigError, "expected a number of seeds, or seeds in a list"),
        ({"seeds": True}, joystick.ConfigError, "expected a number of seeds"),
        ({"seed": 3}, joystick.ConfigError, r"write seeds=\[1, 2, 3\]"),
        ({"seeds": [0, 1]}, joystick.ConfigError, "expected whole numbers from 1 on"),
        ({"seeds": [2**63]}, joystick.ConfigError, "expected whole numbers from 1 on"),
        ({"seeds": 123456789}, joystick.ConfigError, "got 123456789; expected at most 1000"),
        ({"seeds": itertools.count(1)}, joystick.ConfigError, "expected at most 1000"),
        ({"jobs": 0}, joystick.ConfigError, "jobs: got 0; expected a number of runs at once, 1 or more"),
        ({"jobs": "2"}, joystick.ConfigError, "jobs: got '2'; expected a number of runs"),
        ({"sedes": 3}, TypeError, "train has no argument 'sedes'"),
        ({"lr": 0.1}, TypeError, "train has no argument 'lr'; a setting is written algo_cfg="),
        ({"resume": "x"}, joystick.ConfigError, "resume continues a group with its own settings"),
    ],
)
def test_wrong_arguments_are_answered(words: dict[str, Any], error: type[Exception], answer: str) -> None:
    with pytest.raises(error, match=answer):
        joystick.train("PPO", "CartPole-v1", **words)
    assert not Path("tasks").exists()


def test_numbers_of_numpy_are_seeds() -> None:
    assert repr(seeds._seeds(np.arange(3, 5), {})) == "[3, 4]"
    assert seeds._seeds(np.int64(2), {}) == [1, 2]


def test_what_is_no_group_is_refused() -> None:
    with pytest.raises(joystick.JoystickError, match="'nothing' is not a group of seeds"):
        joystick.train(resume="nothing")


def test_an_object_that_cannot_be_sent_to_another_process_is_named_before_anything_starts() -> None:
    Unsendable.lock = threading.Lock()  # type: ignore[attr-defined]
    try:
        Unsendable.__module__ = "__main__"  # as in a notebook
        with pytest.raises(joystick.JoystickError, match="Unsendable cannot be sent to the process of a run"):
            joystick.train("PPO", Unsendable, seeds=2, general_cfg=SHORT)
    finally:
        Unsendable.__module__ = __name__
    assert not Path("tasks").exists()


def test_objects_and_the_places_of_modules_come_through_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("beside.py").write_text("class Beside:\n    number = 7\n")
    Path("told.py").write_text("import sys\nfrom config.own import objects\nprint(objects.find('B').number, sys.argv)")
    monkeypatch.syspath_prepend(os.getcwd())

    import beside

    command = [sys.executable, "-c", own_objects.RECEIVE, "told.py", "word"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, input=own_objects.packed({"B": beside.Beside}), capture_output=True, env=environment, check=True
    )
    assert done.stdout.decode() == "7 ['told.py', 'word']\n"


def test_a_second_ctrl_c_ends_the_cell_and_not_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(kernel=1)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    with pytest.raises(KeyboardInterrupt):
        signals.end(signal.SIGINT)


def test_a_group_in_an_environment_of_a_module_is_filmed_with_the_permission_to_import_it(tmp_path: Path) -> None:
    folder = tmp_path / "group"
    folder.mkdir()
    add_facts(folder / "group.json", {"seeds": [1]})
    own = {"env_cfg": {"size": 3}, "allow_import": ["own_parts"], "general_cfg": {**SHORT, "max_step": 5}}
    with joystick.Run("PPO", "own_parts:Line", seed=1, into=folder / "seed_1", **own) as run:
        while not run.train(200)["done"]:
            pass
    group = joystick.TrainedGroup(folder)
    with pytest.raises(joystick.JoystickError, match=r"film\(0\): expected a whole number"):
        group.film(0, allow_import=["own_parts"])
    with pytest.raises(joystick.ConfigError, match="own_parts"):
        group.film()
    assert group.film(allow_import=["own_parts"]).path.parent == folder / "seed_1" / "videos"
