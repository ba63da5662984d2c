"""Runs under limits of the system and in odd circumstances: few descriptors, little memory, short files, a disk or a
table of inodes that is full, a disk that becomes read-only, a clock that jumps, two commands on one folder at once.
Each run is then resumed without the limit, and compared with one that met none.

python -m tests.stress.limits [NAME ...] [--algorithm ALGORITHM] [--rounds N] [--seconds S] [--seed N]

What mounts a file system needs root. A command may end with a sentence, never with a traceback.
"""

import argparse
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.stress.counts import record
from tests.tools.io_faults import ALGORITHMS, SCENARIOS, Scenario, _in_child, others, played
from tests.tools.process import become

Prepare = Callable[[], None]
PATIENCE = 120.0
"""Seconds after which a run that should have ended stands still."""


def started(words: list[str], said: Path, prepare: Prepare) -> int:
    """Starts a command in a forked process, and returns its number."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

        def work() -> int:
            prepare()
            return _in_child(words, None)

        become(work, out, out, failed=99)
    return child


def ended(child: int, said: Path) -> tuple[int, str]:
    """Returns the exit status of a process and what it has printed."""
    until = time.monotonic() + PATIENCE
    while not (waited := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(waited[1]), said.read_text(errors="replace")


@contextlib.contextmanager
def mounted(folder: Path, options: str, kind: str = "tmpfs", source: str = "none") -> Iterator[None]:
    """Mounts a file system, in memory unless a source is given."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", kind, "-o", options, source, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remounted(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def fault_of(status: int, said: str) -> str:
    """Returns what is wrong with the end of a command."""
    return "" if status in (0, 1, 2) and "Traceback" not in said else f"status {status}: {said[-1500:]}"


class Trial:
    """A scenario, the folder of a trial, and its random moments."""

    def __init__(self, scenario: Scenario, folder: Path, rng: random.Random, longest: float) -> None:
        """longest: seconds of the command without a limit."""
        self.scenario, self.folder, self.rng, self.longest = scenario, folder, rng, longest
        self.base, self.said = folder / "trial", folder / "said.txt"

    def command(self) -> list[str]:
        [words] = self.scenario.commands(self.base)
        return words

    def run(self, prepare: Prepare = lambda: None) -> str:
        """Runs the command. Returns what is wrong with its end."""
        return fault_of(*ended(started(self.command(), self.said, prepare), self.said))


def descriptors(trial: Trial) -> str:
    count = trial.rng.randint(4, 40)

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + count, 4096))

    return trial.run(prepare)


def memory(trial: Trial) -> str | None:
    """A thread that has no memory to begin is waited for by Python itself, for ever (CPython's issue 140746, open in
    2026): that is told and not counted, and less than 16 MiB are not tried."""
    more = trial.rng.choice((16, 24, 32, 64, 128)) * 2**20 + trial.rng.randrange(2**20)

    def prepare() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        size = pages * os.sysconf("SC_PAGE_SIZE") + more
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    wrong = trial.run(prepare)
    if "Exception ignored in thread started by" not in wrong:
        return wrong
    print("memory: Python waits for a thread that has no memory to begin", flush=True)
    return None


def file_size(trial: Trial) -> str:
    size = trial.rng.choice((500, 2000, 8000, 30_000))

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    return trial.run(prepare)


def full_disk(trial: Trial) -> str:
    pages = trial.rng.randint(10, 80)
    with mounted(trial.base, f"size={4 * pages}k"):
        wrong = trial.run()
        remounted(trial.base, "size=64m")
        return wrong or finished(trial)


def full_inodes(trial: Trial) -> str:
    with mounted(trial.base, f"size=64m,nr_inodes={trial.rng.randint(8, 40)}"):
        wrong = trial.run()
        remounted(trial.base, "nr_inodes=10000")
        return wrong or finished(trial)


def read_only(trial: Trial) -> str:
    """At a random moment an error is reported to the file system, which makes itself read-only then, also for files
    that are open: a command could not. It is repaired before the run goes on."""
    image = trial.folder / "image"
    with open(image, "wb") as file:
        file.truncate(64 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    with mounted(trial.base, "loop,errors=remount-ro", "ext4", str(image)):
        device = Path(os.path.realpath(f"/sys/dev/block/{device_of(trial.base)}")).name
        child = started(trial.command(), trial.said, lambda: None)
        time.sleep(trial.rng.uniform(0.05, trial.longest))
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")
        wrong = fault_of(*ended(child, trial.said))
    subprocess.run(["e2fsck", "-fy", str(image)], check=False, capture_output=True)
    with mounted(trial.base, "loop", "ext4", str(image)):
        return wrong or finished(trial)


def device_of(folder: Path) -> str:
    """Returns the numbers of the device of a folder."""
    number = folder.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def clock(trial: Trial) -> str:
    seed = trial.rng.random()

    def prepare() -> None:
        jumps, real = random.Random(seed), time.time
        time.time = lambda: max(1.0, real() + jumps.uniform(-1e8, 1e8))

    return trial.run(prepare)


def two_at_once(trial: Trial) -> str:
    words, other = trial.command(), trial.folder / "other.txt"
    children = [started(words, said, lambda: None) for said in (trial.said, other)]
    ends = [ended(child, said) for child, said in zip(children, (trial.said, other), strict=True)]
    statuses = sorted(status for status, _ in ends)
    bad = statuses not in ([0, 2], [0, 0]) or any("Traceback" in said for _, said in ends)
    return f"{statuses}: {ends[0][1][-700:]} {ends[1][1][-700:]}" if bad else ""


CASES: dict[str, Callable[[Trial], str | None]] = {
    case.__name__: case
    for case in (descriptors, memory, file_size, full_disk, full_inodes, read_only, clock, two_at_once)
}
"""Name -> what a trial does; it returns what is wrong, or None if it could not be tried."""
MOUNTS = ("full_disk", "full_inodes", "read_only")


def finished(trial: Trial) -> str:
    """Resumes without the limit, and compares. Returns what differs."""
    status, said = played(trial.scenario.commands(trial.base), trial.folder)
    if status:
        return f"continuing ends with status {status}: {said}"
    end, expected = trial.scenario.end(trial.base), trial.scenario.reference
    said += "".join(path.read_text(errors="replace") for path in trial.base.rglob("log.txt"))
    allowed = trial.scenario.said(said)
    if "could not be saved" in said:  # a checkpoint that is missing is not compared
        allowed |= {"eval.csv", "best", "evaluations", "counts", "score", "arrays"}
    return ", ".join(sorted(name for name in expected if name not in allowed and end.get(name) != expected[name]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CASES))
    parser.add_argument("--algorithm", choices=[*ALGORITHMS, *others()], default="DQN")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which nothing else begins")
    parser.add_argument("--seed", type=int, default=1)
    request = parser.parse_args()
    rng, until, lost = random.Random(request.seed), time.monotonic() + request.seconds, 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "own").mkdir()
        kind, *arguments = SCENARIOS[f"train {request.algorithm} all"]
        scenario = kind(folder / "own", *arguments)
        base, began = folder / "trial", time.monotonic()
        status, said = played(scenario.commands(base), folder)
        assert status == 0, said
        scenario.reference = scenario.end(base)
        longest = time.monotonic() - began
        for name in request.names or CASES:
            if os.getuid() and name in MOUNTS:
                print(f"{name}: only root can mount", flush=True)
                continue
            tried = wrongs = 0
            for _ in range(request.rounds):
                if time.monotonic() > until:
                    break
                shutil.rmtree(base, ignore_errors=True)
                trial = Trial(scenario, folder, rng, longest)
                try:
                    wrong = CASES[name](trial)
                    if wrong == "" and name not in MOUNTS:
                        wrong = finished(trial)
                except Exception:
                    wrong = traceback.format_exc()
                tried, wrongs = tried + (wrong is not None), wrongs + bool(wrong)
                if wrong:
                    print(f"{name}: {wrong}", flush=True)
            lost += wrongs
            record(f"limits {name}", tried, wrongs)
            print(f"{name}: {tried} tried, {wrongs} lost", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
