"""What dies while a run goes on, by kill -9, and what becomes of the run."""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Set
from pathlib import Path

from framework.disk.checkpoints import CheckpointStore
from framework.distributed import ray_cluster, reaper
from main import main
from tests.tools.ray import RAY, TINY, episodes

ROOT = Path(__file__).parents[3]
PATIENCE = 120
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
"""127.0.0.1, the same within IPv6, and ::1, as /proc writes them."""
SLOW = ("--algo=DQN", "env_cfg.id=sleep", "env_cfg.seconds=0.004", "general_cfg.env_name=toy")


class Run:
    """A run of main.py in a process of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        command = [sys.executable, str(ROOT / "main.py"), *TINY, RAY, *words, "--into", str(folder)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def facts(self) -> dict:
        """run.json, once the processes are known."""
        path, until = self.folder / "run.json", time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            facts = json.loads(path.read_text()) if path.exists() else {}
            if facts.get("processes"):
                return facts
            time.sleep(0.05)
        output = self.process.communicate()[0]
        raise AssertionError(f"the run did not begin, status {self.process.returncode}: {output}")

    def episodes(self, count: int, workers: Set[int] = frozenset()) -> list[dict]:
        """The rows of train.csv, once they are this many and the last forty come from all of these workers."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            path = self.folder / "results" / "train.csv"
            rows = episodes(self.folder) if path.exists() else []
            if len(rows) >= count and workers <= {row["worker"] for row in rows[-40:]}:
                return rows
            time.sleep(0.1)
        raise AssertionError(f"the run did not get so far: {self.process.communicate()[0]}")

    def ended(self) -> tuple[int, str]:
        """Exit status and output."""
        output = self.process.communicate(timeout=PATIENCE)[0]
        return self.process.returncode, output


def counted_once(folder: Path) -> list[dict]:
    """Every episode of every worker and row has one line, one number and one seed."""
    rows = episodes(folder)
    assert [row["episode"] for row in rows] == list(range(1, len(rows) + 1))
    assert max(Counter((row["worker"], row["row"], row["seed"]) for row in rows).values()) == 1
    return rows


def gone(pids: list[int], seconds: float = 30.0) -> bool:
    """None of these processes runs."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(map(runs, pids)):
            return True
        time.sleep(0.2)
    return False


def runs(pid: int) -> bool:
    """The process has not ended. One that has ended is listed until its parent collects it."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def folder_of(driver: int) -> Path:
    """Where the Ray of this driver keeps its files: its reaper was told."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            if any(word.endswith(b"reaper.py") for word in words) and parent(int(place.name)) == driver:
                return Path(words[-2].decode())
        except OSError:
            continue
    raise AssertionError("this driver has no reaper")


def of_ray(folder: str) -> set[int]:
    """Processes of Ray's that were started from this folder, whatever they call themselves by now."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if any(folder.encode() in (place / name).read_bytes() for name in ("cmdline", "environ")):
                found.add(int(place.name))
        except OSError:
            continue
    return found


def everybody(facts: dict) -> list[int]:
    processes = facts["processes"]
    return [*processes["workers"], *processes["learners"], processes["data_server"]]


def test_killed_workers_are_replaced_a_lost_ray_is_started_again_and_a_signal_saves_a_run_that_goes_on(tmp_path):
    """RAY-1, RAY-8: killed twice, at moments that nobody chose, and nothing is counted twice. A signal that asks for a
    checkpoint reaches the driver, and ends none of the others. Without its raylet, Ray would end the driver after some
    seconds, with no word of ours and no save. It does so at once while a checkpoint reads from its store, so those are
    rare here. RAY-4: Ray has a handler of SIGTERM, too; the run goes on without Ray, here; with any number of workers
    in test_distributed_runs.py."""
    words = ("general_cfg.n_workers=2", "general_cfg.max_episode=100000", "general_cfg.model_save_fre=2000")
    run = Run(tmp_path / "run", *SLOW, *words)
    first = run.facts()
    run.episodes(10)
    for worker in (1, 0):
        before = len(episodes(run.folder))
        os.kill(first["processes"]["workers"][worker], signal.SIGKILL)
        run.episodes(before + 40, {0, 1})
    mine = of_ray(str(folder_of(run.process.pid)))
    for pid in mine:  # as a batch system may do
        os.kill(pid, signal.SIGUSR1)
    run.process.send_signal(signal.SIGUSR1)
    run.episodes(len(episodes(run.folder)) + 40, {0, 1})
    known = run.facts()["processes"]
    [raylet] = [pid for pid in mine if program(pid) == "raylet"]
    os.kill(raylet, signal.SIGKILL)
    until = time.monotonic() + PATIENCE
    while run.facts()["processes"] == known and time.monotonic() < until:
        time.sleep(0.1)
    run.episodes(len(episodes(run.folder)) + 40, {0, 1})
    second = run.facts()
    run.process.send_signal(signal.SIGTERM)
    status, output = run.ended()
    assert status == 128 + signal.SIGTERM, output
    before, *after = output.split("SIGUSR1: checkpoint ")
    assert before.count("another takes its place") == 2, output
    assert len(after) == 1, output
    assert "Ray's own process raylet has ended" in output or "died" in output
    assert output.count("all processes begin again at checkpoint") == 1, output
    assert gone([*mine, *everybody(first), *everybody(second)])
    before = len(counted_once(run.folder))
    words = (f"--resume={run.folder}", "general_cfg.mp_backend=single", f"general_cfg.max_episode={before + 20}")
    assert main(words) == 0
    assert len(counted_once(run.folder)) >= before + 20


def parent(pid: int) -> int:
    """The process that began another."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_nothing_listens_where_others_can_reach_it_and_nothing_lives_after_the_driver_was_killed(tmp_path):
    """RAY-9: every socket of ours is on the loopback interface, also where learners meet. RAY-4: kill -9 of the driver;
    and no folder is left. Nor does anybody else reach Ray's files."""
    words = ("general_cfg.n_learners=2", "general_cfg.n_workers=2", "general_cfg.model_save_fre=50")
    run = Run(tmp_path / "run", *SLOW, "general_cfg.max_episode=1000", *words)
    facts = run.facts()
    run.episodes(20)
    ours = everybody(facts)
    assert [place for pid in ours for place in listening(pid) if place.split(":")[0] not in LOOPBACK] == []
    assert any(listening(pid) for pid in facts["processes"]["learners"]), "the learners meet somewhere"
    folder = folder_of(run.process.pid)
    mine = of_ray(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700, "Ray lets everybody write to its own folders below this one"
    assert list(folder.glob("r/session_*/sockets/raylet"))
    run.process.kill()
    run.process.wait()
    assert len(mine) >= 10, "gcs, raylet, two agents, two workers, two learners, a data server, the reaper"
    assert gone([*ours, *mine])
    assert CheckpointStore(run.folder / "models").newest(print).tree["count"]["update"] >= 0
    assert not folder.exists()


def program(pid: int) -> str:
    """The name of the program that a process runs."""
    return Path(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()).name


def listening(pid: int) -> list[str]:
    """Returns the local addresses, in hex, of the sockets on which a process listens."""
    inodes = {os.readlink(link).strip("socket:[]") for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.append(fields[1])
    return found


def test_a_process_of_ray_with_a_title_is_known_by_its_environment(tmp_path):
    """Else an agent of a raylet that was killed before its log was open went on for a minute after the driver's end."""
    named = "import sys; from ray._raylet import setproctitle; setproctitle('ray::Agent'); print(1, flush=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{named}; sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **ray_cluster._environment(tmp_path)},
    )  # fmt: skip
    with process:
        assert process.stdout.readline()
        assert process.pid in reaper.workers_of(str(tmp_path))
