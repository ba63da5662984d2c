"""Two machines of a Ray cluster, imitated by two network namespaces with a cable between them: the cable is pulled, the
process that trains is killed and its run goes on from a copy. Takes minutes, and needs root and Linux.

python -m pytest -n 0 tests/stress/ray_network.py
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from framework.disk.checkpoints import CheckpointStore
from tests.framework.distributed.test_ray_faults import ROOT, counted_once
from tests.tools.ray import RAY

PATIENCE = 600.0
"""Seconds in which a run must get on: two Rays on a machine with other work take minutes to begin."""
NETWORK = "10.213.77"
PORT = "6390"
HERE, THERE = f"joystick-a-{os.getpid()}", f"joystick-b-{os.getpid()}"
"""Names of the two machines."""
WORDS = (
    "--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=sleep", "env_cfg.seconds=0.004", "general_cfg.seed=3",
    "general_cfg.save_fig=false", "general_cfg.online_eval=false", RAY, "general_cfg.n_workers=2",
    "general_cfg.num_cpus_per_worker=1", f"general_cfg.ray_address={NETWORK}.1:{PORT}",
)  # fmt: skip


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Machines:
    """A head node and another node, each behind its own end of a cable."""

    def __init__(self) -> None:
        self.folders = {name: tempfile.mkdtemp(prefix="node-", dir="/tmp") for name in (HERE, THERE)}
        for name in (HERE, THERE):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", HERE, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", THERE)
        for number, name in enumerate((HERE, THERE), start=1):
            ip("-n", name, "addr", "add", f"{NETWORK}.{number}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
        self.nodes = [
            self.start(HERE, "--head", f"--port={PORT}", f"--node-ip-address={NETWORK}.1", "--num-cpus=3",
                       "--include-dashboard=false"),
        ]  # fmt: skip
        self.nodes.append(
            self.start(THERE, f"--address={NETWORK}.1:{PORT}", f"--node-ip-address={NETWORK}.2", "--num-cpus=2")
        )

    def environment(self) -> dict[str, str]:
        """Returns the variables of all processes: no token, and Ray's own niceness would let them stand still."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        return {**others, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_AUTH_MODE": "disabled"}

    def command(self, name: str, *words: str) -> list[str]:
        return ["ip", "netns", "exec", name, *words]

    def start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        """Starts Ray on a machine, and waits until its node answers."""
        script = str(Path(sys.executable).with_name("ray"))
        command = self.command(name, script, "start", *words, f"--temp-dir={self.folders[name]}", "--block")
        node = subprocess.Popen(command, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while not list(Path(self.folders[name]).glob("session_latest/sockets/raylet*")):
            assert time.monotonic() < until, "Ray does not start"
            assert node.poll() is None, f"Ray ended with status {node.returncode}"
            time.sleep(0.2)
        time.sleep(3)
        return node

    def train(self, *words: str, folder: Path = ROOT) -> "subprocess.Popen[str]":
        """Starts main.py on the first machine."""
        command = self.command(HERE, sys.executable, str(ROOT / "main.py"), *words)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, cwd=folder, env=self.environment(), text=True, **pipes)

    def pull(self) -> None:
        """Pulls the cable."""
        ip("-n", HERE, "link", "set", "cable", "down")

    def close(self) -> None:
        for node in self.nodes:
            node.send_signal(signal.SIGTERM)
        for node in self.nodes:
            try:
                node.wait(30)
            except subprocess.TimeoutExpired:
                node.kill()
                node.wait()
        for name, folder in self.folders.items():
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
            for pid in pids.split():
                os.kill(int(pid), signal.SIGKILL)
            ip("netns", "del", name)
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def machines() -> Iterator[Machines]:
    if sys.platform != "linux" or os.geteuid() or not shutil.which("ip"):
        pytest.skip("needs root, Linux, and ip of iproute2")
    two = Machines()
    yield two
    two.close()


def until_lines(path: Path, lines: int, run: "subprocess.Popen[str]") -> None:
    """Waits until a file has so many lines."""
    until = time.monotonic() + PATIENCE
    while not path.exists() or len(path.read_text().splitlines()) <= lines:
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < until, "nothing is collected"
        time.sleep(0.1)


def test_a_machine_that_cannot_be_reached_any_more_is_replaced(machines: Machines, tmp_path: Path) -> None:
    """Its workers begin again on the other machine; no episode counts twice."""
    task = tmp_path / "run"
    run = machines.train(*WORDS, "general_cfg.max_episode=300", "general_cfg.max_total_step=-1", "--into", str(task))
    until_lines(task / "results" / "train.csv", 20, run)
    machines.pull()
    output = run.communicate(timeout=3 * PATIENCE)[0]
    assert run.returncode == 0, output
    assert "is lost" in output or "again" in output or "replaced" in output, output
    assert len(counted_once(task)) >= 300


def test_a_run_whose_driver_was_killed_goes_on_elsewhere_from_its_copy(machines: Machines, tmp_path: Path) -> None:
    """One command, in another folder, without the folder of the run."""
    store, task, elsewhere = tmp_path / "store", tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = (f"general_cfg.storage=file://{store}", "general_cfg.model_save_fre=20", "general_cfg.max_episode=300")
    run = machines.train(*WORDS, *words, "general_cfg.max_total_step=-1", "--into", str(task))
    until_lines(task / "results" / "train.csv", 60, run)
    until, copied = time.monotonic() + PATIENCE, store / "run" / "models"
    while not CheckpointStore(copied).numbers() and time.monotonic() < until:
        time.sleep(0.1)
    run.kill()  # `ip netns exec` has become main.py
    run.communicate(timeout=PATIENCE)
    shutil.rmtree(task)
    address = f"general_cfg.ray_address={NETWORK}.1:{PORT}"
    again = machines.train("resume", f"file://{store}/run", "--take-over", RAY, address, folder=elsewhere)
    output = again.communicate(timeout=3 * PATIENCE)[0]
    assert again.returncode == 0, output
    assert len(counted_once(elsewhere / "tasks" / "run")) >= 300
