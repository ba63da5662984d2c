"""Clusters of Ray on this machine: a node is lost during training, and a task of a tuning is killed. Takes minutes.

python -m pytest -n 0 tests/stress/ray_clusters.py
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from framework.archive.run import RecordedRun
from tests.framework.distributed.test_ray_faults import PATIENCE, ROOT, counted_once
from tests.tools.ray import RAY, TINY
from tests.tools.tuning import forking, table, written

__all__ = ["forking"]

TWO_NODES = """
import json, sys, tempfile, time
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
# with one folder for both, a node unpacks the program in the working directory of the other's processes, which die
folders = [tempfile.TemporaryDirectory(prefix="node-", dir="/tmp") for _ in range(2)]
others = [cluster.add_node(num_cpus=2, temp_dir=folder.name) for folder in folders]
cluster.wait_for_nodes()
print(json.dumps({"address": cluster.address}), flush=True)
for line in sys.stdin:  # the node of the driver, which is to stay
    lost = next(node for node in others if node.node_id != line.strip())
    cluster.remove_node(lost, allow_graceful=False)
cluster.shutdown()
"""


def test_a_node_of_the_cluster_may_be_lost(tmp_path):
    """Its workers are replaced on another node once there is room; no episode counts twice."""
    # at Ray's own niceness, processes of a cluster stand still beside other work on this machine
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        environment.pop(name, None)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    cluster = subprocess.Popen([sys.executable, "-c", TWO_NODES], env=environment, **pipes)
    try:
        address = json.loads(cluster.stdout.readline())["address"]
        words = ("--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=sleep", "env_cfg.seconds=0.004")
        more = (f"general_cfg.ray_address={address}", "general_cfg.n_workers=2", "general_cfg.max_episode=300")
        more += ("general_cfg.num_cpus_per_worker=1", "--into", str(tmp_path / "run"))
        run = subprocess.Popen(
            [sys.executable, str(ROOT / "main.py"), *TINY, RAY, *words, *more],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        wait_for_lines(tmp_path / "run" / "results" / "train.csv", 20, run)
        facts = json.loads((tmp_path / "run" / "run.json").read_text())
        cluster.stdin.write(facts["processes"]["node"] + "\n")
        cluster.stdin.flush()
        output = run.communicate(timeout=PATIENCE)[0]
        assert run.returncode == 0, output
        assert len(counted_once(tmp_path / "run")) >= 300
    finally:
        cluster.stdin.close()
        cluster.wait(timeout=60)


def wait_for_lines(path: Path, lines: int, run: subprocess.Popen) -> None:
    """Until the file has so many lines."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and run.poll() is None:
        if path.exists() and len(path.read_text().splitlines()) > lines:
            return
        time.sleep(0.1)
    raise AssertionError(run.communicate()[0] if run.poll() is not None else "nothing was collected")


SLOW_TUNING = """\
general_cfg: {algo_name: DQN, env_name: toy, seed: 3, save_fig: false, max_total_step: 600, model_save_fre: 50}
env_cfg: {id: sleep, seconds: 0.01}
algo_cfg: {lr: {grid: [0.1, 0.5]}}
tune_cfg: {score: return_mean}
"""
ONE_NODE = """
import sys
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@pytest.mark.usefixtures("forking")
def test_a_real_cluster_trains_starts_a_killed_task_again_and_gives_everything_back_on_a_signal(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    # at Ray's own niceness, processes of a cluster stand still beside other work on this machine
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        environment.pop(name, None)
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    nodes = subprocess.Popen([sys.executable, "-c", ONE_NODE], env=environment, stderr=subprocess.DEVNULL, **pipes)
    try:
        address = nodes.stdout.readline().strip()
        words = ["tune", "--yaml", str(written(SLOW_TUNING)), "--into", "x", f"tune_cfg.ray_address={address}"]
        said = Path("said.txt")
        with open(said, "w") as output:
            command = [sys.executable, "-u", str(ROOT / "main.py"), *words]
            tuning = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        folder, process, parent = wait_for(lambda: a_stage(lambda folder: True), tuning, said)
        os.kill(parent, signal.SIGKILL)
        wait_for(lambda: "it goes on from where it was" in said.read_text(), tuning, said)
        wait_for(lambda: not folder.exists() and not Path(f"/proc/{process}").exists(), tuning, said)
        wait_for(lambda: a_stage(lambda other: other != folder), tuning, said)
        tuning.send_signal(signal.SIGINT)
        assert tuning.wait(timeout=60) == 128 + signal.SIGINT, said.read_text()
        assert f"to go on: python main.py tune --resume x tune_cfg.ray_address={address}" in said.read_text()
    finally:
        nodes.stdin.close()
        nodes.wait(timeout=60)
    steps = [RecordedRun(Path("x/trials", name)).facts.step or 0 for name in ("000", "001")]
    assert 0 < max(steps) < 600, "what was trained by then has come back"
    # in a process of its own as above: defaults in this one are those of tests
    resumed = [sys.executable, str(ROOT / "main.py"), "tune", "--resume", "x"]
    done = subprocess.run(resumed, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(row["state"], row["step"]) for row in table("x")] == [("finished", "600")] * 2


def wait_for(found: Callable[[], Any], tuning: subprocess.Popen[bytes], said: Path) -> Any:
    """What is found, once it is."""
    until = time.monotonic() + 90
    while time.monotonic() < until and tuning.poll() is None:
        if result := found():
            return result
        time.sleep(0.05)
    raise AssertionError(said.read_text())


def a_stage(wanted: Callable[[Path], bool]) -> tuple[Path, int, int] | None:
    """Folder and process id of a stage that trains, and the process id of its task."""
    for folder in filter(wanted, Path(tempfile.gettempdir()).glob("joystick-stage-*")):
        if (folder / "task/results/train.csv").exists() and (ids := next(processes_of(folder), None)):
            return folder, *ids
    return None


def processes_of(folder: Path) -> Iterator[tuple[int, int]]:
    """Process ids of training in this folder, and of their parents."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (place / "cmdline").read_bytes()
            if f"{folder}/task".encode() in command and b"main.py" in command:
                yield int(place.name), int((place / "stat").read_text().rpartition(")")[2].split()[1])
