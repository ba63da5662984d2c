"""A group of seeds in a real cluster of Ray: it is interrupted, goes on, and trains no seed twice."""

import os
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from framework.archive.run import RecordedRun
from tests.framework.jobs.test_group_resume import WORDS, outcome
from tests.framework.jobs.test_seeds import run, wait_for
from tests.tools import short_runs
from tests.tools.process import fork_runs

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray")

MAIN = str(Path(__file__).parents[3] / "main.py")
HEAD = "import sys; from ray.scripts.scripts import main; sys.argv[0] = 'ray'; main()"
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a cluster of this machine with a token, a folder and a port of its own."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv("RAY_worker_niceness", "0")  # otherwise its processes stand still beside other work
    port = 20_000 + os.getpid() % 10_000
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        words = ["start", "--head", "--block", f"--port={port}", f"--temp-dir={folder}", "--num-cpus=2",
                 "--include-dashboard=false", "--object-store-memory=80000000", "--disable-usage-stats"]  # fmt: skip
        head = subprocess.Popen([sys.executable, "-c", HEAD, *words], start_new_session=True, **PIPES)
        try:
            assert any("Ray runtime started" in line for line in head.stdout or ()), "the cluster did not start"
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(head.pid, signal.SIGKILL)
            head.communicate()


def test_a_group_in_a_cluster_goes_on_and_trains_no_finished_seed_again(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cluster = ["general_cfg.mp_backend=ray", f"general_cfg.ray_address={address}"]
    words = [*WORDS, *cluster, "--seeds", "1..2", "--jobs", "1", "--into", "there"]
    first = subprocess.Popen([sys.executable, MAIN, *words], **PIPES)
    wait_for(lambda: bool(RecordedRun(Path("there/seed_1")).facts.finished) or first.poll() is not None)
    first.send_signal(signal.SIGINT)
    output, _ = first.communicate()
    assert first.returncode == 130, output
    [command] = [line for line in output.splitlines() if line.startswith("to go on")]
    before = Path("there/seed_1/results/train.csv").stat()
    program = shlex.split(command)
    again = subprocess.run([sys.executable, MAIN, *program[program.index("resume") :]], **PIPES)
    assert again.returncode == 0, again.stdout
    assert Path("there/seed_1/results/train.csv").stat() == before
    short_runs.end()  # the processes of the cluster have the defaults of the product
    fork_runs(monkeypatch)
    assert run(*WORDS, "--seeds", "1..2", "--into", "here") == 0
    assert outcome("there") == outcome("here")
