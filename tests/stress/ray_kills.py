"""Kills processes of runs with Ray at random moments, and resumes what ended: workers, learners, the data server, the
driver, the raylet, the head of the cluster. At the end of each run: every episode has one line, the newest checkpoint
is whole, a run without Ray goes on with it, no output has a traceback, and no process and no folder of Ray is left.

python -m tests.stress.ray_kills [--kills N] [--each N] [--seconds S] [--seed N]
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from framework.disk.checkpoints import CheckpointStore
from tests.framework.distributed.test_ray_faults import (
    ROOT,
    SLOW,
    counted_once,
    everybody,
    folder_of,
    gone,
    of_ray,
    program,
    runs,
)
from tests.stress.counts import record
from tests.tools.ray import RAY, TINY, episodes

WEIGHTS = {"worker": 7, "learner": 4, "data server": 3, "driver": 3, "raylet": 2, "gcs_server": 1}
"""Victim -> how often it is chosen, beside the others."""
SETTINGS = (*SLOW, "general_cfg.n_workers=2", "general_cfg.model_save_fre=50")
PATIENCE = 180.0
"""Seconds in which a run must begin, or get on."""
SESSIONS: list["Session"] = []
"""All that were started: those of a run that went wrong are ended."""


class Session:
    """A process of main.py, from its start to its end."""

    def __init__(self, folder: Path, said: Path, words: list[str]) -> None:
        self.folder, self.said = folder, said
        with open(said, "w") as file:
            self.process = subprocess.Popen([sys.executable, str(ROOT / "main.py"), *words], cwd=ROOT, stdout=file,
                                            stderr=subprocess.STDOUT)  # fmt: skip
        self.place: Path | None = None
        """Folder of its Ray, once that is known."""
        self.members: set[int] = set()
        """Processes of its Ray that were ever seen."""
        SESSIONS.append(self)

    def victims(self) -> dict[str, list[int]]:
        """Returns the living processes by what they are; none before the run trains."""
        with contextlib.suppress(OSError, ValueError, AssertionError, KeyError):  # not yet written, or not yet there
            facts = json.loads((self.folder / "run.json").read_text())
            processes = facts["processes"]
            self.place = folder_of(self.process.pid)
            members = of_ray(str(self.place))
            self.members |= members
            ours = set(everybody(facts))
            if not ours <= self.members:  # those of an earlier session
                return {}
            named = {pid: program(pid) for pid in members}
            return {
                "worker": [pid for pid in processes["workers"] if pid in members],
                "learner": [pid for pid in processes["learners"] if pid in members],
                "data server": [pid for pid in [processes["data_server"]] if pid in members],
                "driver": [self.process.pid],
                **{name: [pid for pid, its in named.items() if its == name] for name in ("raylet", "gcs_server")},
            }
        return {}

    def wait(self, seconds: float) -> int | None:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def text(self) -> str:
        return self.said.read_text(errors="replace")


def words_for(folder: Path) -> list[str]:
    """Returns the command that begins a run, or goes on with what there is."""
    if CheckpointStore(folder / "models").numbers():
        return ["--resume", str(folder)]
    shutil.rmtree(folder, ignore_errors=True)
    return [*TINY, RAY, *SETTINGS, "general_cfg.max_episode=1000000", "--into", str(folder)]


def lines(folder: Path) -> int:
    path = folder / "results" / "train.csv"
    return len(episodes(folder)) if path.exists() else 0


def run(folder: Path, each: int, rng: random.Random, counts: Counter[str]) -> str:
    """Trains a run in which processes are killed, one after the other. Returns what is wrong; an empty text if
    nothing is."""
    sessions: list[Session] = []

    def begin() -> Session:
        sessions.append(Session(folder, folder.with_suffix(f".{len(sessions)}.txt"), words_for(folder)))
        return sessions[-1]

    session = begin()
    left, until = each, time.monotonic() + PATIENCE
    while left:
        if time.monotonic() > until:
            return f"stands still: {session.text()[-3000:]}"
        if (status := session.wait(rng.uniform(0.1, 2.5))) is not None:
            if status == 0 or "Traceback" in session.text():
                return f"status {status}: {session.text()[-3000:]}"
            counts["resumes"] += 1
            session = begin()
            until = time.monotonic() + PATIENCE
            continue
        alive = {name: pids for name, pids in session.victims().items() if pids}
        if not alive:
            continue
        [name] = rng.choices(list(alive), [WEIGHTS[name] for name in alive])
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(alive[name]), signal.SIGKILL)
            counts[name] += 1
            left -= 1
            until = time.monotonic() + PATIENCE
    return ended(session) or checked(folder, sessions)


def ended(session: Session) -> str:
    """Stops a session once it has gone on for some episodes, unless it ends. Returns what is wrong."""
    if session.wait(2) is None:
        before, until = lines(session.folder), time.monotonic() + PATIENCE
        while session.wait(0.2) is None and lines(session.folder) < before + 10:
            if time.monotonic() > until:
                return f"does not go on: {session.text()[-3000:]}"
        session.process.send_signal(signal.SIGINT)
    return f"does not end: {session.text()[-3000:]}" if session.wait(PATIENCE) is None else ""


def checked(folder: Path, sessions: list[Session]) -> str:
    """Returns what is wrong with a run that has ended."""
    for session in sessions:
        if "Traceback" in session.text():
            return session.text()[-3000:]
        if not gone(sorted(session.members - {session.process.pid})):
            left = {pid: program(pid) for pid in session.members if runs(pid)}
            return f"processes are left: {left}"
        if session.place is not None and session.place.exists():
            return f"{session.place} is left"
    if not CheckpointStore(folder / "models").numbers():
        return "" if not lines(folder) or len(sessions) == 1 else "no checkpoint"
    before = lines(folder)
    words = ["--resume", str(folder), "general_cfg.mp_backend=single", f"general_cfg.max_episode={before + 20}"]
    last = Session(folder, folder.with_suffix(".last.txt"), words)
    if last.wait(PATIENCE) != 0:
        return f"does not resume: {last.text()[-3000:]}"
    counted_once(folder)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="in all, at least")
    parser.add_argument("--each", type=int, default=5, help="of each run")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which no other run begins")
    parser.add_argument("--seed", type=int, default=1)
    request = parser.parse_args()
    rng, until = random.Random(request.seed), time.monotonic() + request.seconds
    counts, lost = Counter[str](), 0
    while sum(counts[name] for name in WEIGHTS) < request.kills and time.monotonic() < until:
        with tempfile.TemporaryDirectory() as place:
            before = sum(counts[name] for name in WEIGHTS)
            try:
                wrong = run(Path(place) / "run", request.each, rng, counts)
            except AssertionError as error:
                wrong = f"AssertionError: {error}"
            finally:
                for session in SESSIONS:
                    session.process.kill()
                    session.process.wait()
                SESSIONS.clear()
            kills = sum(counts[name] for name in WEIGHTS) - before
        counts["runs"] += 1
        lost += bool(wrong)
        record("ray_kills", kills, int(bool(wrong)), runs=1)
        print(f"run {counts['runs']}: {kills} kills: {wrong or 'nothing lost'}", flush=True)
    print("\n| killed | times |\n|---|---|")
    for name in [*WEIGHTS, "resumes", "runs"]:
        print(f"| {name} | {counts[name]} |")
    print(f"| lost | {lost} |")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
