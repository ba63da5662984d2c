"""The commands on an imitation of Windows (tests/tools/windows.py): what our own code asks of the system. On Windows
and macOS the same commands run on the system itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from config.system.processes import interrupt, out_of_reach
from tests.tools import windows

ROOT = Path(__file__).parents[2]
PYTHON = (sys.executable, "-X", "warn_default_encoding", "-W", "ignore::EncodingWarning:matplotlib")
SHORT = ("general_cfg.online_eval_episode=2", "general_cfg.save_fig=false")
WALK = """
from tests.tools import windows
windows.imitate()
import subprocess, sys, urllib.request
from main import main

def do(*words):
    print(">", *words, flush=True)
    assert main(list(words)) == 0, words

short = {short!r}
do("--algo", "DQN", "--env", "CartPole-v1", "--into", "tasks/one", "general_cfg.max_total_step=300",
   "algo_cfg.learning_starts=64", "general_cfg.model_save_fre=50", "general_cfg.collect_traj=true", *short)
do("resume", "one", "general_cfg.max_total_step=600")
do("--algo", "QLearning", "--env", "CliffWalking-v1", "--into", "tasks/two", "general_cfg.max_total_step=400", *short)
do("--algo", "QLearning", "--env", "CliffWalking-v1", "--into", "tasks/three", "general_cfg.max_total_step=500", *short)
do("runs")
do("compare", "two", "three", "--into", "compared")
do("test", "two", "general_cfg.max_episode=3")
do("doctor")

from framework.errors import JoystickError
from framework.live.server import Server
from framework.live.stop import Stops
from framework.disk.task_dir import held_lock
from threading import Thread
with Server(__import__("pathlib").Path("tasks")) as server:
    Thread(target=server.serve_forever, daemon=True).start()
    assert b"<html" in urllib.request.urlopen(server.address).read()
    server.shutdown()
with held_lock(server.answers.folder / "one"):
    try:
        Stops().stop(server.answers.folder / "one")
    except JoystickError as error:
        print("stop:", error)
"""


def environment(folder: Path) -> dict[str, str]:
    """Returns the variables of a console of Chinese Windows, whose letters are those of GBK."""
    return {
        **os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "gbk", "JOYSTICK_LANG": "zh",
        "XDG_CONFIG_HOME": str(folder),
    }  # fmt: skip


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with runs that were made there, and what the commands have printed."""
    folder = tmp_path_factory.mktemp("walk")
    code = WALK.format(short=SHORT)
    done = subprocess.run([*PYTHON, "-c", code], cwd=folder, env=environment(folder), capture_output=True)
    printed = done.stdout.decode("gbk")
    assert done.returncode == 0, f"{printed}\n{done.stderr.decode('gbk')}"
    return folder, printed


def test_runs_are_trained_and_resumed_and_shown(walk: tuple[Path, str]) -> None:
    folder, printed = walk
    assert "已完成" in printed, "a console has Chinese letters"
    assert (folder / "tasks/one/models/best/manifest.json").is_file()
    assert (folder / "tasks/one/results/trajs.pkl").is_file()
    assert list((folder / "compared").glob("*.html"))
    assert not list((folder / "tasks").rglob("*.tmp"))
    assert not list((folder / "tasks").rglob("*.old"))


@pytest.mark.skipif(sys.platform == "darwin", reason="there it can")
def test_the_page_cannot_stop_a_run_there_and_says_so(walk: tuple[Path, str]) -> None:
    assert "stop: " in walk[1]
    assert "Ctrl-C" in walk[1].partition("stop: ")[2]


def test_files_have_the_ends_of_lines_of_every_system(walk: tuple[Path, str]) -> None:
    """A run may go on on another system."""
    written = [path for path in (walk[0] / "tasks").rglob("*") if path.suffix in (".csv", ".json", ".yaml", ".jsonl")]
    assert len(written) > 8
    assert [path for path in written if b"\r" in path.read_bytes()] == []


def test_a_group_is_stopped_by_ctrl_break(tmp_path: Path) -> None:
    """Windows has no signal that one process could send to another but this one; the run saves."""
    limits = ("general_cfg.max_episode=-1", "general_cfg.max_total_step=100000000")
    words = ("--algo", "QLearning", "--env", "CliffWalking-v1", "--seeds", "1", "--into", "group", *limits, *SHORT)
    command = [*PYTHON, "-m", "tests.tools.windows", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), **streams, **out_of_reach()) as group:
        assert group.stdout is not None
        rows = tmp_path / "group" / "seed_1" / "results" / "train.csv"
        until = time.monotonic() + 200
        while not (rows.is_file() and rows.read_bytes().count(b"\n") > 1):
            assert group.poll() is None, group.communicate()[0].decode("gbk")
            assert time.monotonic() < until
            time.sleep(0.1)
        if sys.platform == "linux":
            group.send_signal(windows.BREAK)
        else:
            interrupt(group, signal.SIGINT)
        printed = group.communicate()[0].decode("gbk")
    assert group.returncode == 128 + (signal.SIGINT if sys.platform == "darwin" else windows.BREAK), printed
    assert list((rows.parents[1] / "models").iterdir()), f"it has not saved: {printed}"
