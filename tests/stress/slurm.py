"""A SLURM of this machine alone runs the scripts that `cluster slurm` prints. Jobs are queued again, by hand, at the
end of their time and for a more important job, and what comes out is compared with runs that were left alone. Takes
minutes, and needs the right to start slurmctld and slurmd, as root has.

python tests/stress/slurm.py [NAME ...]        apt-get install slurm-wlm munge
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.stress.counts import ABSENT

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "srun")
PATIENCE = 600.0
"""Seconds after which a job that has not come to its end is an error."""
NODES = ("one", "two")
ENDS = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED")
CONFIG = """\
ClusterName=joystick
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=15
ReturnToService=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=2,bf_interval=2
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4 RealMemory=4000 State=UNKNOWN
NodeName=two NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE State=UP
PartitionName=high Nodes=ALL PriorityTier=2 MaxTime=INFINITE State=UP
"""
SETTINGS = {
    "env_name": "toy", "save_fig": False, "online_eval": True, "online_eval_episode": 2, "iteration_steps": 100,
    "model_save_fre": 100, "model_save_unit": "step", "keep_checkpoints": 3, "max_total_step": 1000,
}  # fmt: skip
GENERAL = [*(f"general_cfg.{key}={value}" for key, value in SETTINGS.items()), "env_cfg.id=sleep"]
WORDS = ["--algo", "DQN", *GENERAL, "env_cfg.seconds=0.02", "algo_cfg.learning_starts=32"]
RAY = ["--algo", "PPO", *GENERAL, "env_cfg.seconds=0.02", "algo_cfg.batch_size=64", "algo_cfg.sgd_batch_size=32",
       "general_cfg.mp_backend=ray", "general_cfg.n_workers=2", "general_cfg.num_cpus_per_worker=1"]  # fmt: skip


def missing() -> list[str]:
    """Returns the programs that are not installed."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


def free_ports(count: int) -> list[int]:
    """Returns ports of this machine that nothing listens at."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator["Slurm"]:
    """Starts the daemons in a folder of their own, and ends them."""
    folder.chmod(0o755)
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    host = socket.gethostname().split(".")[0]
    (folder / "slurm.conf").write_text(CONFIG.format(folder=folder, host=host, ports=free_ports(3)))
    (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "OMP_NUM_THREADS": "1"}
    environment["PATH"] += os.pathsep + "/usr/sbin"
    munge = [f"--{name}={folder}/munge.{end}" for name, end in (
        ("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")
    )]  # fmt: skip
    commands = [["munged", "--foreground", "--force", *munge], ["slurmctld", "-D"]]
    commands += [["slurmd", "-D", "-N", node] for node in NODES]
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with open(folder / "daemons.txt", "ab") as said:
                daemons.append(
                    subprocess.Popen(command, env=environment, stdout=said, stderr=said, start_new_session=True)
                )
            time.sleep(2)
        yield Slurm(folder, environment)
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
            daemon.kill()


class Slurm:
    """Jobs of a SLURM."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.work = folder / "work"
        self.work.mkdir()

    def call(self, *words: str) -> str:
        """Returns what a command prints."""
        done = subprocess.run(words, cwd=self.work, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, *words: str) -> int:
        """Submits the script for some words. Returns the number of the job."""
        text = self.call(sys.executable, str(ROOT / "main.py"), "cluster", "slurm", "--memory", "100M", *words)
        path = self.work / "job.sh"
        path.write_text(text)
        return int(self.call("sbatch", "--parsable", str(path)))

    def state(self, job: int | str) -> dict[str, str]:
        """Returns the facts about a job, or about one of an array."""
        return dict(re.findall(r"(\w+)=(\S*)", self.call("scontrol", "show", "job", str(job)).split("\n\n")[0]))

    def wait(self, job: int | str, done: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Returns the facts about a job once they are as wanted."""
        until = time.monotonic() + PATIENCE
        while not done(state := self.state(job)):
            assert time.monotonic() < until, f"{state}\n{self.said()}"
            time.sleep(0.5)
        return state

    def ended(self, job: int | str) -> dict[str, str]:
        """Returns the facts about a job that has ended."""
        return self.wait(job, lambda facts: facts["JobState"] in ENDS)

    def started(self, job: int | str, folder: Path, beyond: int = 0) -> int:
        """Waits until the run of a job has a checkpoint beyond an update. Returns the newest."""
        self.wait(job, lambda facts: newest(folder) > beyond or facts["JobState"] in ENDS)
        assert newest(folder) > beyond, self.said()
        return newest(folder)

    def said(self) -> str:
        """Returns what the jobs have printed."""
        return "".join(path.read_text(errors="replace") for path in self.work.glob("slurm-*.out"))


def newest(folder: Path) -> int:
    """Returns the update of the newest checkpoint of a run; -1 without one."""
    return max((int(path.name) for path in (folder / "models").glob("[0-9]*") if path.name.isdecimal()), default=-1)


def outcome(folder: Path) -> dict[str, bytes]:
    """Returns the tables, and the checkpoints with their weights, by their names."""
    files = [*(folder / "results").glob("*.csv"), *(folder / "models").rglob("state.safetensors")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def straight(cluster: Slurm, words: Sequence[str], name: str) -> Path:
    """Returns the folder of a run without a break."""
    cluster.call(sys.executable, str(ROOT / "main.py"), *words, "--into", name)
    return cluster.work / name


def must_equal(cluster: Slurm, folder: Path, other: Path) -> None:
    assert outcome(folder) == outcome(other), cluster.said()


def must_complete(cluster: Slurm, job: int | str) -> dict[str, str]:
    """Waits for the end of a job, which was queued again before it."""
    state = cluster.ended(job)
    assert state["JobState"] == "COMPLETED", f"{state} {cluster.said()}"
    assert int(state["Restarts"]) >= 1, f"{state} {cluster.said()}"
    return state


def requeue(cluster: Slurm) -> None:
    """A job is queued again by hand, twice; then it is complete, and another turn ends at once."""
    job = cluster.submit(*WORDS, "--time", "30:00", "--cpus", "1", "--into", "requeued", "general_cfg.seed=1")
    folder = cluster.work / "requeued"
    reached = 0
    for count in "12":
        reached = cluster.started(job, folder, reached)
        cluster.call("scontrol", "requeue", str(job))
        cluster.wait(job, lambda facts, count=count: facts["Restarts"] == count and facts["JobState"] == "RUNNING")
    assert cluster.ended(job)["JobState"] == "COMPLETED", cluster.said()
    must_equal(cluster, folder, straight(cluster, [*WORDS, "general_cfg.seed=1"], "seed_1"))
    cluster.call("scontrol", "requeue", str(job))
    cluster.wait(job, lambda facts: facts["Restarts"] == "3")
    assert cluster.ended(job)["JobState"] == "COMPLETED"
    assert "has finished: nothing is left to train" in cluster.said()


def time_limit(cluster: Slurm) -> None:
    """The time of a job is over before the run is: SLURM warns, the run saves, and the job is queued again."""
    words = [*WORDS, "env_cfg.seconds=0.1", "general_cfg.seed=1"]
    words.remove("env_cfg.seconds=0.02")
    job = cluster.submit(*words, "--time", "2:00", "--warning", "15", "--cpus", "1")
    state = must_complete(cluster, job)
    print(f"  queued again {state['Restarts']} times")
    must_equal(cluster, cluster.work / f"tasks/DQN-sleep-{job}", straight(cluster, words, "limit"))


def array(cluster: Slurm) -> None:
    """Two seeds in an array; a job of a more important partition takes their places for a while."""
    job = cluster.submit(*WORDS, "--seeds", "1,2", "--time", "30:00", "--cpus", "4")
    folders = {seed: cluster.work / f"tasks/DQN-sleep-{job}_seed_{seed}" for seed in (1, 2)}
    for place, folder in enumerate(folders.values()):
        cluster.started(f"{job}_{place}", folder)
    other = int(
        cluster.call("sbatch", "--parsable", "-p", "high", "-N", "2", "-c", "4", "-t", "5", "--wrap", "sleep 5")
    )
    cluster.ended(other)
    for place, (seed, folder) in enumerate(folders.items()):
        must_complete(cluster, f"{job}_{place}")
        must_equal(cluster, folder, straight(cluster, [*WORDS, f"general_cfg.seed={seed}"], f"alone_{seed}"))


def lost_node(cluster: Slurm) -> None:
    """The node of a job goes away: SLURM queues the job again, and another node goes on."""
    job = cluster.submit(*WORDS, "general_cfg.seed=1", "--time", "30:00", "--cpus", "1", "--into", "lost")
    cluster.started(job, cluster.work / "lost")
    node = cluster.state(job)["NodeList"]
    cluster.call("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    assert cluster.ended(job)["JobState"] == "COMPLETED", cluster.said()
    assert cluster.state(job)["NodeList"] != node
    cluster.call("scontrol", "update", f"nodename={node}", "state=resume")
    must_equal(cluster, cluster.work / "lost", straight(cluster, [*WORDS, "general_cfg.seed=1"], "not_lost"))


def cancel(cluster: Slurm) -> None:
    """scancel saves, and does not queue again; the same script goes on."""
    words = [*WORDS, "general_cfg.seed=1", "--time", "30:00", "--cpus", "1", "--into", "cancelled"]
    job = cluster.submit(*words)
    folder = cluster.work / "cancelled"
    cluster.started(job, folder)
    cluster.call("scancel", str(job))
    assert cluster.ended(job)["JobState"] == "CANCELLED", cluster.said()
    time.sleep(20)
    assert cluster.state(job)["JobState"] == "CANCELLED"
    again = cluster.submit(*words)
    assert cluster.ended(again)["JobState"] == "COMPLETED", cluster.said()
    must_equal(cluster, folder, straight(cluster, [*WORDS, "general_cfg.seed=1"], "not_cancelled"))


def ray_nodes(cluster: Slurm) -> None:
    """Two nodes, with a Ray on both; the job is queued again."""
    job = cluster.submit(*RAY, "general_cfg.seed=1", "--nodes", "2", "--cpus", "2", "--time", "30:00", "--into", "ray")
    folder = cluster.work / "ray"
    cluster.started(job, folder)
    cluster.call("scontrol", "requeue", str(job))
    must_complete(cluster, job)
    must_equal(cluster, folder, straight(cluster, [*RAY, "general_cfg.seed=1"], "one_node"))


CASES = {case.__name__: case for case in (requeue, time_limit, array, lost_node, cancel, ray_nodes)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=", ".join(CASES), metavar="NAME")
    request = parser.parse_args()
    if absent := missing():
        print(f"not installed here: {', '.join(absent)}; apt-get install slurm-wlm munge", file=sys.stderr)
        return ABSENT
    failed = 0
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the daemons have to end, too
    with tempfile.TemporaryDirectory(prefix="slurm-") as place, slurm(Path(place)) as cluster:
        for name in request.names or CASES:
            began = time.monotonic()
            try:
                CASES[name](cluster)
                print(f"{name}: equal, {time.monotonic() - began:.0f} s", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"{name}: FAILED\n{error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
