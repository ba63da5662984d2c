"""Real processes of Ray that hang, stand still or die, and machines that grant little. Takes minutes.

python -m pytest -n 0 tests/stress/ray_faults.py
"""

import contextlib
import os
import signal
import socket
import subprocess
import time

from tests.framework.distributed.test_ray_faults import (
    PATIENCE,
    SLOW,
    Run,
    counted_once,
    everybody,
    folder_of,
    gone,
    of_ray,
)
from tests.framework.distributed.test_ray_start import run


def test_who_is_slow_is_waited_for_and_only_by_who_must(tmp_path):
    """RAY-3: a learner that stands still lets workers run ahead so far and no further; a worker stands alone."""
    run = Run(tmp_path / "run", *SLOW, "general_cfg.n_workers=2", "general_cfg.max_episode=100000")
    processes = run.facts()["processes"]
    learner, worker = processes["learners"][0], processes["workers"][0]
    run.episodes(220)  # learning has begun
    os.kill(learner, signal.SIGSTOP)
    time.sleep(1.5)
    rows = len(run.episodes(0))
    time.sleep(1.0)
    assert len(run.episodes(0)) == rows, "nothing bounds what waits for the learner"
    os.kill(learner, signal.SIGCONT)
    run.episodes(rows + 20)
    os.kill(worker, signal.SIGSTOP)
    rows = len(run.episodes(0)) + 60
    assert {row["worker"] for row in run.episodes(rows)[-20:]} == {1}
    os.kill(worker, signal.SIGCONT)
    until = time.monotonic() + PATIENCE
    while 0 not in {row["worker"] for row in run.episodes(rows)[rows:]} and time.monotonic() < until:
        time.sleep(0.1)
    run.process.send_signal(signal.SIGINT)
    status, output = run.ended()
    assert status == 128 + signal.SIGINT, output
    assert {row["worker"] for row in counted_once(run.folder)[rows:]} == {0, 1}


def test_what_kept_the_memory_or_learned_is_brought_back_from_the_last_checkpoint(tmp_path):
    """RAY-1: first the data server dies, then the new learner; and the curve has each episode once."""
    run = Run(tmp_path / "run", *SLOW, "general_cfg.max_episode=100", "general_cfg.model_save_fre=100")
    first = run.facts()
    run.episodes(30)
    os.kill(first["processes"]["data_server"], signal.SIGKILL)
    until = time.monotonic() + PATIENCE
    while (second := run.facts())["processes"] == first["processes"] and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(second["processes"]["learners"][0], signal.SIGKILL)
    status, output = run.ended()
    assert status == 0, output
    assert output.count("all processes begin again at checkpoint") == 2
    counted_once(run.folder)
    assert gone([*everybody(first), *everybody(second)])


def test_a_signal_while_ray_begins_ends_the_run_before_it_has_written_anything(tmp_path):
    """RAY-4: Ray itself would end the process in the middle of what it starts, with a status of its own."""
    run = Run(tmp_path / "run", *SLOW)
    until = time.monotonic() + PATIENCE
    while not (mine := started(run.process.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    run.process.terminate()
    status, output = run.ended()
    assert status == 128 + signal.SIGTERM, output
    assert output.splitlines()[-1].startswith("stopped before"), output
    assert gone(mine)
    assert not run.folder.exists()


def started(driver: int) -> list[int]:
    """What Ray has started for this driver, once it has begun to."""
    try:
        folder = folder_of(driver)
    except AssertionError:
        return []
    mine = [pid for pid in of_ray(str(folder)) if pid != driver]
    return mine if len(mine) > 1 else []


HANGS = """
import os, time
from gymnasium.envs.classic_control import CartPoleEnv
import gymnasium

class Hangs(CartPoleEnv):
    steps = 0

    def step(self, action):
        self.steps += 1
        if self.steps == 60 and not os.path.exists(os.environ["MARK"]):
            open(os.environ["MARK"], "w").close()
            time.sleep(600)
        if self.steps == 120 and "RAISE" in os.environ:
            raise RuntimeError("the pole is broken")
        return super().step(action)

gymnasium.register("Hangs-v0", Hangs, max_episode_steps=30)
"""


def test_an_environment_that_hangs_is_named_and_one_that_fails_ends_the_run_with_its_story(tmp_path, monkeypatch):
    """Its worker ends itself, and another takes its place; the traceback that only the worker had is in the log."""
    (tmp_path / "hanging.py").write_text(HANGS)
    for name, value in {"PYTHONPATH": str(tmp_path), "MARK": str(tmp_path / "mark"), "RAISE": "1"}.items():
        monkeypatch.setenv(name, value)
    words = ("--algo=DQN", "env_cfg.id=hanging:Hangs-v0", "--allow-import=hanging", "general_cfg.env_timeout=2")
    run = Run(tmp_path / "run", *words, "general_cfg.max_episode=1000")
    status, output = run.ended()
    assert status == 2, output
    assert "its environment has not answered for" in output
    *_, story, resume = output.splitlines()
    assert "the pole is broken" in story
    assert resume.startswith("to resume: ")
    assert "Traceback" not in output
    log = (run.folder / "logs" / "log.txt").read_text()
    assert "In worker 0" in log
    assert "hanging.py" in log


SMALL = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64m none /dev/shm && exec "$@"', "sh"]
"""Before a command: it sees shared memory of 64 MiB, as in a container. Only root may."""


def test_a_machine_that_grants_little_is_no_hindrance(tmp_path):
    """RAY-5: HOME cannot be written, the port that Ray would like is taken, shared memory is as small as a container's,
    and RAY_ADDRESS (RAY-6: main.py was started by a job of a cluster) names another Ray."""
    small = SMALL if subprocess.run([*SMALL, "true"], capture_output=True).returncode == 0 else ()
    words = ("general_cfg.max_total_step=20", "algo_cfg.learning_starts=0", "--into", str(tmp_path / "run"))
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # by somebody else: as good
            taken.bind(("127.0.0.1", 6379))
            taken.listen()
        done = run(*words, before=small, HOME="/nonexistent", RAY_ADDRESS="127.0.0.1:6379")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
