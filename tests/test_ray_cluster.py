"""Somebody's cluster: two nodes on this machine, of which one is lost while training goes on."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers_ray import RAY, TINY
from tests.test_ray_faults import PATIENCE, ROOT, counted_once

pytestmark = pytest.mark.xdist_group("ray")  # one after the other: each takes several processes

CLUSTER = """
import json, sys, time
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
others = [cluster.add_node(num_cpus=2), cluster.add_node(num_cpus=2)]
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
    cluster = subprocess.Popen([sys.executable, "-c", CLUSTER], env=environment, **pipes)
    try:
        address = json.loads(cluster.stdout.readline())["address"]
        words = ("--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=sleep", "env_cfg.seconds=0.004")
        more = (f"general_cfg.ray_address={address}", "general_cfg.n_workers=2", "general_cfg.max_episode=300")
        more += ("general_cfg.num_cpus_per_worker=1", "--into", str(tmp_path / "run"))
        run = subprocess.Popen(
            [sys.executable, str(ROOT / "main.py"), *TINY, RAY, *words, *more],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        wait_for(tmp_path / "run" / "results" / "train.csv", 20, run)
        facts = json.loads((tmp_path / "run" / "run.json").read_text())
        cluster.stdin.write(facts["processes"]["node"] + "\n")
        cluster.stdin.flush()
        output = run.communicate(timeout=PATIENCE)[0]
        assert run.returncode == 0, output
        assert len(counted_once(tmp_path / "run")) >= 300
    finally:
        cluster.stdin.close()
        cluster.wait(timeout=60)


def wait_for(path: Path, lines: int, run: subprocess.Popen) -> None:
    """Until the file has so many lines."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and run.poll() is None:
        if path.exists() and len(path.read_text().splitlines()) > lines:
            return
        time.sleep(0.1)
    raise AssertionError(run.communicate()[0] if run.poll() is not None else "nothing was collected")
