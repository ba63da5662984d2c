"""Lets everything run at once for hours: a run that trains and saves, one with Ray, `watch` with its page open in a
browser, and evaluations, films and trajectories of the first run, one after the other. Notes every ten seconds what the
processes of each part use, and fits how memory, descriptors, threads, steps per second and disk change by the hour.

python -m tests.stress.soak [--hours H] [--folder FOLDER] [--publish]

The samples are appended to FOLDER/soak.csv (by default build/soak), so that twelve hours may come in parts: the
runs are resumed. --publish adds means of five minutes to those of the sessions before, of this folder and of others:
the table and the picture of docs/reliability.md are made from all of them. The exit status is 1 if a command has
failed, or if a slope is above what is allowed for it.
"""

import argparse
import contextlib
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.stress.counts import record
from tests.stress.soak_page import EVERY, means, publish, samples, summary
from tests.tools.browser import PROGRAM, Browser

ROOT = Path(__file__).resolve().parents[2]
ENV = """\
import time

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv


class SlowCartPole(CartPoleEnv):
    def step(self, action):
        time.sleep(0.02)
        return super().step(action)


gymnasium.register("SlowCartPole-v0", SlowCartPole, max_episode_steps=500)
"""
"""An environment that leaves most of a core to other work, and takes the same time on every machine."""
SETTINGS = (
    "--algo", "DQN", "env_cfg.id=slow_cartpole:SlowCartPole-v0", "--allow-import", "slow_cartpole",
    "general_cfg.seed=3", "general_cfg.max_episode=-1", "general_cfg.max_step=-1", "general_cfg.max_total_step=-1",
    "general_cfg.online_eval=true", "general_cfg.online_eval_episode=2", "general_cfg.model_save_fre=2000",
    "general_cfg.model_save_unit=step", "general_cfg.keep_checkpoints=3", "algo_cfg.buffer_size=5000",
    "algo_cfg.batch_size=32", "general_cfg.loggers=[csv,tensorboard]",
)  # fmt: skip
RUNS = {
    "train": ("general_cfg.collect_traj=false",),
    "ray": ("general_cfg.mp_backend=ray", "general_cfg.n_workers=2"),
}
"""Part -> further settings of its run."""
COMMANDS = (
    ("evaluate", "--episodes", "2"),
    ("test", "--episodes", "2"),
    ("film", "--episodes", "1"),
)
"""What is done with the newest model of the first run, in turn."""
PAUSE = 60.0
"""Seconds between two of these."""
COLUMNS = ("session", "part", "seconds", "memory", "descriptors", "threads", "steps", "disk")


class Use(NamedTuple):
    """What the processes of a part use together."""

    memory: float
    """MiB without those of files, such as libraries, which other programs share for as long as they run."""
    descriptors: int
    threads: int


def family(pid: int) -> list[int]:
    """Returns a process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(place.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def use(pid: int) -> Use:
    """Returns what a process and its descendants use now."""
    memory, descriptors, threads = 0.0, 0, 0
    for each in family(pid):
        with contextlib.suppress(OSError, AttributeError):
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
            memory += sum(map(int, re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+)", rollup, re.MULTILINE))) / 1024
            descriptors += len(os.listdir(f"/proc/{each}/fd"))
            threads += len(os.listdir(f"/proc/{each}/task"))
    return Use(memory, descriptors, threads)


def steps(run: Path) -> int:
    """Returns the number of steps in the last row of a run."""
    try:
        rows = samples(run / "results" / "progress.csv")
        return int(rows[-1]["step"])
    except (OSError, IndexError, KeyError, ValueError):  # not yet written, or a row that is not yet whole
        return 0


def disk(run: Path) -> float:
    """Returns the MiB that the files of a run take; those that it deletes meanwhile do not count."""
    total = 0
    for folder, _, names in os.walk(run):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total / 2**20


class Part:
    """A process of main.py that lasts as long as the session."""

    def __init__(self, name: str, folder: Path, *words: str) -> None:
        self.name, self.folder, self.run = name, folder, folder / "tasks" / name
        self.said = folder / f"{name}.txt"
        with open(self.said, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "main.py"), *words], cwd=folder, stdout=file, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    def row(self, session: str, seconds: float) -> dict[str, Any]:
        its = use(self.process.pid)
        return {"session": session, "part": self.name, "seconds": round(seconds, 1), "memory": round(its.memory, 2),
                "descriptors": its.descriptors, "threads": its.threads, "steps": steps(self.run),
                "disk": round(disk(self.run), 3)}  # fmt: skip

    def end(self) -> int:
        """Ends it as Ctrl-C does. Returns the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(120)


def words_for(name: str, folder: Path) -> list[str]:
    """Returns the command that begins the run of a part, or goes on with it."""
    run = folder / "tasks" / name
    if list((run / "models").glob("[0-9]*")):
        return ["resume", name, "--allow-import", "slow_cartpole"]
    return [*SETTINGS, *RUNS[name], "--into", str(run)]


@contextlib.contextmanager
def all_ended(parts: list[Part]) -> Iterator[None]:
    """Ends processes that still run on exit, also after an error."""
    try:
        yield
    finally:
        for part in parts:
            if part.process.poll() is None:
                part.end()


@contextlib.contextmanager
def page_open(address: str) -> Iterator[Callable[[], bool]]:
    """Has the page open in a browser, if there is one. Yields what says whether it shows the first run."""
    if PROGRAM is None:
        print("no Chromium: the page of watch is not opened", flush=True)
        yield lambda: True
        return
    browser = Browser()
    browser.go(address)

    def is_shown() -> bool:
        with contextlib.suppress(AssertionError, OSError):
            return "train" in browser.text()
        return False

    try:
        yield is_shown
    finally:
        with contextlib.suppress(AssertionError, OSError):  # it has ended: that was counted
            browser.close()


def address_of(watch: Part) -> str:
    """Returns the address that `watch` has printed."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if found := re.search(r"http://\S+", watch.said.read_text(encoding="utf-8")):
            return found[0]
        time.sleep(0.2)
    raise AssertionError(watch.said.read_text(encoding="utf-8"))


class Turns:
    """Commands that read the first run, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count, self.failed = folder, 0, 0
        self.process: subprocess.Popen[bytes] | None = None
        self.next = time.monotonic() + PAUSE

    def look(self) -> None:
        """Starts the next command when its time has come, and counts one that has failed."""
        if self.process is not None and self.process.poll() is not None:
            if self.process.returncode:
                self.failed += 1
                print((self.folder / "turn.txt").read_text(encoding="utf-8")[-2000:], flush=True)
            self.process, self.next = None, time.monotonic() + PAUSE
        if self.process is None and time.monotonic() > self.next and (self.folder / "tasks/train/models/best").exists():
            word, *more = COMMANDS[self.count % len(COMMANDS)]
            out = self.folder / f"out_{word}"
            out.unlink() if out.is_file() else shutil.rmtree(out, ignore_errors=True)
            into = ("--out", str(out)) if word == "evaluate" else ("--into", str(out))
            words = [word, "train", "--allow-import", "slow_cartpole", *more, *into]
            with open(self.folder / "turn.txt", "w", encoding="utf-8") as file:
                self.process = subprocess.Popen([sys.executable, str(ROOT / "main.py"), *words], cwd=self.folder,
                                                stdout=file, stderr=subprocess.STDOUT)  # fmt: skip
            self.count += 1

    def end(self) -> None:
        if self.process is not None:
            self.process.wait(300)
            self.failed += self.process.returncode != 0


def session(folder: Path, hours: float) -> int:
    """Runs everything for some hours. Returns the number of commands that have failed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks").mkdir(exist_ok=True)
    (folder / "slow_cartpole.py").write_text(ENV, encoding="utf-8")
    os.environ["PYTHONPATH"] = str(folder)
    table = folder / "soak.csv"
    start = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    began = time.monotonic()
    parts = [Part(name, folder, *words_for(name, folder)) for name in RUNS]
    watch = Part("watch", folder, "watch", str(folder / "tasks"))
    turns, failed, look = Turns(folder), 0, time.monotonic() + PAUSE
    with (
        all_ended([*parts, watch]),
        page_open(address_of(watch)) as page_is_shown,
        open(table, "a", encoding="utf-8", newline="") as file,
    ):
        rows = csv.DictWriter(file, COLUMNS)
        if not file.tell():
            rows.writeheader()
        with contextlib.suppress(KeyboardInterrupt):  # what was seen so far counts
            while time.monotonic() < began + 3600 * hours:
                time.sleep(EVERY)
                turns.look()
                for part in [*parts, watch]:
                    if (status := part.process.poll()) is not None:
                        print(f"{part.name} ended with status {status}: {part.said.read_text()[-2000:]}", flush=True)
                        failed += 1
                    else:
                        rows.writerow(part.row(start, time.monotonic() - began))
                file.flush()
                if time.monotonic() > look:
                    look = time.monotonic() + PAUSE
                    if not page_is_shown():
                        print("the page of watch does not show the run", flush=True)
                        failed += 1
                if failed:
                    break
        turns.end()
        failed += sum(part.end() != 128 + signal.SIGINT for part in [*parts, watch] if part.process.poll() is None)
    record("soak", round(time.monotonic() - began), failed + turns.failed, commands=turns.count)
    return failed + turns.failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=12.0, help="of this session; 0: only the table of what there is")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "soak")
    parser.add_argument("--publish", action="store_true", help="write the table and the picture of the page")
    request = parser.parse_args()
    folder = request.folder.resolve()
    failed = session(folder, request.hours) if request.hours else 0
    blocks = means(samples(folder / "soak.csv"))
    lines, bad = summary(blocks)
    print("\n".join(lines))
    if request.publish:
        publish(blocks)
    return 1 if failed or bad else 0


if __name__ == "__main__":
    sys.exit(main())
