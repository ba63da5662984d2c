"""Environments that never come back, from any call: the run is saved, says where it hangs, and leaves no process."""

import contextlib
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from framework.collect.env_calls import Watch
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import TaskDir
from framework.runs import signals
from framework.runs.signals import Watchdog
from framework.seeding import number
from tests.tools.paths import in_the_suite
from tests.tools.process import forked

MODULE = """
import os, time
import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

class Stuck(gymnasium.Env):
    observation_space, action_space = Discrete(3), Discrete(2)
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, at, number, busy=False, render_mode=None):
        self.at, self.number, self.busy, self.calls, self.render_mode = at, number, busy, 0, render_mode
        self.here("make")

    def here(self, call):
        if call != self.at:
            return
        self.calls += 1
        if call == "make":  # a number counts environments, over all processes
            with open("made", "a") as file:
                file.write("x")
            self.calls = os.path.getsize("made")
        if call == "close":
            with open("closed", "a") as file:
                file.write("x")
            self.calls = os.path.getsize("closed")
        while self.calls == self.number or (call == "step" and self.time > 2 and os.path.exists("stop")):
            time.sleep(0 if self.busy else 0.01)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.seed = 0, seed
        self.here("reset")
        return 0, {}

    def step(self, action):
        self.time += 1
        self.here("step")
        while self.at == "episode" and self.seed == self.number and self.time == 3:
            time.sleep(0.01)
        return self.time % 3, 1.0, False, self.time == 5, {}

    def render(self):
        self.here("render")
        return np.zeros((8, 8, 3), np.uint8)

    def close(self):
        self.here("close")

gymnasium.register("Stuck-v0", entry_point=Stuck)
"""
WORDS = [
    "--allow-import", "stuck", "env_cfg.id=stuck:Stuck-v0", "general_cfg.algo_name=QLearning", "general_cfg.seed=3",
    "general_cfg.env_timeout=2", "general_cfg.max_episode=-1", "general_cfg.max_total_step=60",
    "general_cfg.model_save_fre=20", "general_cfg.save_fig=false", "general_cfg.preset=null",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("stuck.py").write_text(MODULE)


def run(at, number, *words, into="run"):
    return forked(*WORDS, "--into", into, f"env_cfg.at={at}", f"env_cfg.number={number}", *words)


@pytest.mark.parametrize(("at", "number"), [("reset", 6), ("step", 33)])
def test_a_call_that_never_returns_ends_the_run_which_is_saved(at, number):
    """One that sleeps, and one that computes for ever."""
    done = run(at, number, "env_cfg.vectorization=sync", f"env_cfg.busy={at == 'step'}")
    assert done.returncode == 2, done.stderr
    assert f"Stuck-v0 has not answered for 2 s, in {at}" in done.stderr
    assert f"to resume: python main.py --allow-import stuck resume {Path('run').absolute()}" in done.stderr
    assert CheckpointStore(Path("run/models")).numbers()


HANGS = [("step", 3), ("step", 8), ("step", 33), ("reset", 3)]


@pytest.mark.parametrize(("at", "number"), in_the_suite(HANGS, ("step", 33)))
def test_rows_in_processes_of_their_own_end_it_with_the_same_words_and_no_traceback(at, number):
    """Killing them ends the call that waits for them with an error, while the run is being saved."""
    done = run(at, number, "env_cfg.vectorization=async", "env_cfg.n_envs=3", "general_cfg.max_total_step=200")
    assert done.returncode == 2, done.stderr
    said, resume = [line for line in done.stderr.splitlines() if line and not line.startswith("evaluation")]
    assert said.startswith(f"error: stuck:Stuck-v0 has not answered for 2 s, in {at}")
    assert said.endswith("The run was saved")
    assert resume.startswith("to resume: python main.py --allow-import stuck resume ")
    assert not others_here()


def test_a_call_that_returns_while_the_watchdog_acts_waits_for_it():
    watch, order = Watch(), []

    def alarm() -> None:
        order.append("alarm")
        time.sleep(0.5)
        order.append("saved")

    with Watchdog(0.1, watch, alarm):
        with watch("step"):
            while not order:
                time.sleep(0.01)
        order.append("went on")
    assert order == ["alarm", "saved", "went on"]


def test_the_time_in_which_a_process_was_suspended_is_no_silence_of_its_environment(monkeypatch):
    """As by Ctrl-Z; the jump of the clock comes with the second look at the call."""
    watch, alarms, looks, until = Watch(), [], [], time.monotonic() + 10

    def clock() -> float:
        looks.append(time.monotonic())
        return looks[-1] + (1000 if len(looks) >= 3 else 0)

    monkeypatch.setattr(signals, "time", SimpleNamespace(monotonic=clock))
    with watch("step"), Watchdog(2.0, watch, lambda: alarms.append("alarm")):
        while len(looks) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.1)
    assert len(looks) >= 3
    assert not alarms


@pytest.mark.parametrize("number", [1, 3])
def test_an_environment_that_is_never_made_is_no_run_that_waits(number):
    """The first is made to see whether it fits the algorithm, a later one by the run itself."""
    done = run("make", number, "env_cfg.vectorization=sync")
    assert done.returncode == 2, done.stderr
    assert "could not be made" in done.stderr or "has not answered for 2 s, in make" in done.stderr


def test_an_environment_that_cannot_be_closed_after_the_end_ends_with_success():
    """The last of those that are closed; the training is complete."""
    once = run("close", 99, "env_cfg.vectorization=sync")
    assert once.returncode == 0, once.stderr
    closed = Path("closed").stat().st_size
    Path("closed").unlink()
    again = run("close", closed, "env_cfg.vectorization=sync", into="again")
    assert again.returncode == 0, again.stderr
    assert "in close. The training is complete and saved" in again.stderr


def test_a_resume_that_hangs_while_it_repeats_an_episode_leaves_the_checkpoint_as_it_was():
    """Until its episodes are repeated, a resume holds half of a state."""
    words = ("env_cfg.vectorization=sync", "general_cfg.max_total_step=63")
    assert run("step", 999, *words).returncode == 0
    before = {path: path.read_bytes() for path in Path("run").rglob("*.*") if "/models/63/" in str(path)}
    rows = Path("run/results/train.csv").read_bytes()
    Path("stop").touch()
    resume = ["--allow-import", "stuck", "--resume", str(Path("run").absolute()), "general_cfg.max_total_step=80"]
    done = forked(*resume)
    assert done.returncode == 2, done.stderr
    assert "has not answered for 2 s, in step" in done.stderr
    assert "saved" not in done.stderr
    assert len(before) == 2
    assert {path: path.read_bytes() for path in before} == before
    assert Path("run/results/train.csv").read_bytes() == rows


def test_a_film_that_never_ends_costs_a_warning():
    """The training is complete and saved by then."""
    done = run("render", 7, "env_cfg.vectorization=sync", "env_cfg.render_mode=rgb_array")
    assert done.returncode == 0, done.stderr
    assert "has not answered for 2 s, in render" in done.stderr
    assert "The training is complete and saved" in done.stderr


def test_processes_of_a_hung_environment_end_with_the_run_and_free_its_lock():
    """Those of the evaluation were forked while the lock was held."""
    online = ["general_cfg.online_eval=true", "general_cfg.online_eval_episode=2"]
    done = run("step", 8, "env_cfg.vectorization=async", "env_cfg.n_envs=2", *online)
    assert done.returncode == 2, done.stderr
    assert "BrokenPipe" not in done.stderr
    for _ in range(20):
        if alive := others_here():
            time.sleep(0.1)
    assert not alive
    task = TaskDir(Path("run"))
    task.open()
    task.close()


ONLINE = ["general_cfg.online_eval=true", "general_cfg.online_eval_episode=3"]


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_a_step_of_an_evaluation_that_never_returns_ends_the_run_which_is_saved(vectorization):
    """The evaluation is still due then: a resume begins with it, and hangs in it again."""
    hangs = number(3, "evaluation", 1)
    done = run("episode", hangs, f"env_cfg.vectorization={vectorization}", "env_cfg.n_envs=2", *ONLINE)
    assert done.returncode == 2, done.stderr
    assert "Stuck-v0 has not answered for 2 s, in step" in done.stderr
    assert "The run was saved" in done.stderr
    assert CheckpointStore(Path("run/models")).numbers() == [20]
    assert not others_here()
    again = forked("--allow-import", "stuck", "--resume", str(Path("run").absolute()))
    assert again.returncode == 2, again.stderr
    assert "has not answered for 2 s, in step" in again.stderr
    assert not others_here()
    words = ["general_cfg.online_eval=false", "--no-evaluation"]
    free = forked("--allow-import", "stuck", "--resume", str(Path("run").absolute()), *words)
    assert free.returncode == 0, free.stderr


def test_an_evaluation_after_the_training_that_never_ends_costs_a_warning():
    """Of the newest checkpoints, to choose the best; the training is complete and saved by then."""
    done = run("episode", number(3, "evaluation", 1), "env_cfg.vectorization=sync", *ONLINE[1:])
    assert done.returncode == 0, done.stderr
    assert "has not answered for 2 s, in step" in done.stderr
    assert "The training is complete and saved" in done.stderr


@pytest.mark.parametrize("word", ["test", "evaluate"])
def test_a_test_that_never_ends_says_where_it_hangs(word):
    hangs = number(3, "evaluation", 1)
    assert run("step", -1, "env_cfg.vectorization=sync", *ONLINE[1:]).returncode == 0
    words = ["--allow-import", "stuck", word, str(Path("run").absolute())]
    more = ["env_cfg.at=episode", f"env_cfg.number={hangs}"]
    done = forked(*words, *more)
    assert done.returncode == 2, done.stderr
    assert "Stuck-v0 has not answered for 2 s, in step" in done.stderr
    assert not others_here()


def test_a_watchdog_that_is_closed_leaves_no_thread_that_wakes_up_while_python_ends():
    """Such a thread aborted one refused resume in three with status 134."""
    for _ in range(20):
        dog = Watchdog(60, Watch(), lambda: None)
        assert dog._thread.is_alive()
        dog.close()
        assert not dog._thread.is_alive()


def others_here():
    """Other processes in this working directory, which is a new one for each test."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(process.name) != os.getpid() and os.readlink(process / "cwd") == os.getcwd():
                found.append(process)
    return found
