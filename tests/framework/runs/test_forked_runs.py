"""A run belongs to the process that began it: a forked child of the program neither saves, closes nor trains it."""

import multiprocessing
import sys
import threading
from pathlib import Path

import pytest

import joystick
from framework.disk.csv_table import read_csv
from tests.framework.runs.test_run import fingerprint
from tests.tools.process import forked_program

BEGIN = """
import os, sys, atexit, joystick
toy = {"id": "walk"}
run = joystick.Run("QLearning", env_name="toy", seed=3, env_cfg=toy, general_cfg={"save_fig": False}, into="%s")
run.train(60)
"""
FORK = """
child = os.fork()
if not child:
    %s
assert os.waitpid(child, 0)[1] == 0
"""
NORMAL_EXIT = "atexit._run_exitfuncs(); os._exit(0)"  # as the interpreter ends, without the tests' own exit functions
END = """
run.train(60)
run.close()
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def played(name: str, middle: str) -> str:
    """What the program prints to stderr that does this in the middle of its run."""
    process = forked_program(BEGIN % name + middle + END)
    assert process.returncode == 0, process.stderr
    return process.stderr


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LOOK = "before = {p: p.read_bytes() for p in run.task.rglob('*') if p.is_file()}\n"
SAME = "assert before == {p: p.read_bytes() for p in run.task.rglob('*') if p.is_file()}\n"


def test_a_forked_child_leaves_the_run_of_its_parent_alone():
    ends = (
        NORMAL_EXIT,
        "run.close(); os._exit(0)",
        "run.__exit__(None, None, None); os._exit(0)",
        "import logging; logging.getLogger('joystick').warning('from the child'); logging.shutdown(); os._exit(0)",
    )
    said = played("forked", "".join(LOOK + FORK % end + SAME for end in ends))
    assert "left open" not in said
    played("alone", "")
    assert fingerprint(Path("forked")) == fingerprint(Path("alone"))
    with joystick.Run.resume("forked") as again:
        assert again.count.step == 120
        assert again.train(30)["step"] == 150


def test_a_forked_child_that_uses_the_run_is_told_so_and_writes_nothing():
    calls = ("train(10)", "save()", "restore(0)", "evaluate()", "set_weights({})", "weights()", "sample(5)",
             "set_phase(1)")  # fmt: skip
    child = f"""
    try:
        run.%s
    except joystick.JoystickError as error:
        sys.stderr.write(str(error) + chr(10))
        {NORMAL_EXIT}
    os._exit(1)
"""
    said = played("forked", LOOK + "".join(FORK % (child % call) + SAME for call in calls))
    answer = "which trains forked, and cannot use its run; Run.branch continues from a checkpoint"
    assert said.count(answer) == len(calls)


def test_a_forked_child_that_looks_at_the_run_does_not_write_its_waiting_rows():
    looks = ("plot()", "_repr_html_()", "_experiment.log.flush()")
    played("forked", "".join(FORK % f"run.{look}; os._exit(0)" for look in looks))
    played("alone", "")
    assert fingerprint(Path("forked")) == fingerprint(Path("alone"))
    with joystick.Run.resume("forked") as again:
        assert again.count.step == 120


def test_a_child_that_an_environment_forks_and_that_exits_does_not_save_the_run():
    source = """
import os, sys, gymnasium, joystick

class Forks(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.low, {}
    def step(self, action):
        Forks.steps += 1
        if Forks.steps == 60:
            child = os.fork()
            if not child:
                sys.exit(3)
            os.waitpid(child, 0)
        return self.observation_space.low, 1.0, False, Forks.steps % 10 == 0, {}

run = joystick.Run("REINFORCE", Forks, seed=3, into="run", general_cfg={"save_fig": False})
try:
    run.train(100)
except BaseException:
    before = {p: p.read_bytes() for p in run.task.rglob("*") if p.is_file()}
    run.close()
    assert before == {p: p.read_bytes() for p in run.task.rglob("*") if p.is_file()}
    sys.stderr.write("the child ends" + chr(10))
    os._exit(0)
run.train(40)
run.close()
"""
    process = forked_program(source)
    assert process.returncode == 0, process.stderr
    assert "the child ends" in process.stderr
    episodes = [row["episode"] for row in read_csv(Path("run/results/train.csv"))]
    assert episodes == list(range(1, len(episodes) + 1))


def test_the_processes_of_the_rows_outlive_a_forked_child():
    begin = """
import atexit, gc, os, joystick
short = {"save_fig": False, "online_eval_episode": 2}
two = {"id": "CartPole-v1", "n_envs": 2, "vectorization": "async"}
run = joystick.Run("PPO", seed=3, env_name="gym", env_cfg=two, general_cfg=short, into="run")
run.train(60)
"""
    process = forked_program(begin + FORK % f"del run; gc.collect(); {NORMAL_EXIT}" + END)
    assert process.returncode == 0, process.stderr


def test_children_of_multiprocessing_do_no_harm():
    def work() -> None:
        sys.exit(0)

    run = joystick.Run("QLearning", env_name="toy", seed=3, env_cfg={"id": "walk"}, into="run",
                       general_cfg={"save_fig": False})  # fmt: skip
    run.train(60)
    before = content(run.task)
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert (child.exitcode, content(run.task)) == (0, before)
    assert run.train(40)["step"] == 100
    run.close()


# ------------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("call", ["train", "save", "evaluate", "close"])
def test_a_second_thread_is_told_that_another_one_uses_the_run(call):
    run = joystick.Run("QLearning", env_name="toy", seed=3, env_cfg={"id": "walk"}, into="run",
                       general_cfg={"save_fig": False})  # fmt: skip
    round_of, said = run._experiment.trainer.round, []

    def other() -> None:
        try:
            getattr(run, call)()
        except joystick.JoystickError as error:
            said.append(str(error))

    def round_and_call() -> None:
        round_of()
        if not said:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    run._experiment.trainer.round = round_and_call
    run.train(60)
    (text,) = said
    assert text.endswith("another thread is in train, and a run is used by one at a time")
    run.close()


@pytest.mark.parametrize("call", ["plot", "_repr_html_"])
def test_a_second_thread_that_looks_at_the_run_leaves_its_waiting_rows_to_the_first(call):
    run = joystick.Run("QLearning", env_name="toy", seed=3, env_cfg={"id": "walk"}, into="run",
                       general_cfg={"save_fig": False})  # fmt: skip
    round_of, sizes, table = run._experiment.trainer.round, [], Path("run/results/train.csv")

    def round_and_look() -> None:
        round_of()
        if run.count.step % 20:
            return
        sizes.append(table.stat().st_size)
        thread = threading.Thread(target=getattr(run, call))
        thread.start()
        thread.join()
        sizes.append(table.stat().st_size)

    run._experiment.trainer.round = round_and_look
    run.train(60)
    assert len(sizes) == 6
    assert sizes[::2] == sizes[1::2]
    run.close()
