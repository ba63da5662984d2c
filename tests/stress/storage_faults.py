"""Kills runs that are copied to a real S3 server (moto), while requests go wrong, and goes on from the store alone,
each time in an empty folder, as on another machine. Compares weights and CSV files byte for byte with a run that nobody
killed. Then two writers of one run. Needs: pip install "moto[server]" s3fs

python -m tests.stress.storage_faults [--runs N] [--kills K] [--share 0.05] [--seed S] [--algorithm DQN|QLearning]

The last lines are a table: what was tried, how often, and how often something was lost. The exit status is 1 if
anything was.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from tests.stress.counts import ABSENT, record
from tests.tools import process as processes
from tests.tools import s3
from tests.tools.io_faults import ALGORITHMS, OUTPUTS
from tests.tools.process import Forked

STEPS = 1000
SETTINGS = (
    "general_cfg.seed=3", "general_cfg.save_fig=false", "general_cfg.keep_checkpoints=3", *OUTPUTS["all"],
    "general_cfg.iteration_steps=100",
    f"general_cfg.max_total_step={STEPS}", "general_cfg.model_save_fre=50",
)  # fmt: skip
COMPARED = ("train.csv", "eval.csv", "progress.csv")


def end_of(run: Path) -> dict[str, str]:
    """Returns the checksums of what must not depend on kills: results, trajectories, traces, and all weights."""
    files = [run / "results" / name for name in COMPARED if (run / "results" / name).exists()]
    files += sorted((run / "results").glob("trajs*"))
    files += sorted((run / "models").glob("*/state.safetensors"))
    sums = {str(file.relative_to(run)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    traces = b"".join(file.read_bytes() for file in sorted((run / "results" / "traces").glob("*")))
    return {**sums, "traces": hashlib.sha256(traces).hexdigest()}  # their names have the time of the beginning


class Machine:
    """An empty folder with an empty cache, in which commands run."""

    def __init__(self, base: Path, name: str) -> None:
        self.folder = base / name
        self.folder.mkdir()

    def start(self, *words: str) -> Forked:
        def work() -> int:
            os.chdir(self.folder)
            os.environ["JOYSTICK_CACHE"] = str(self.folder / "cache")
            from main import main

            return main(list(words))

        return Forked(work=work, new_session=True)


def killed(process: Forked, number: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    with contextlib.suppress(AssertionError):
        process.wait()


def words_for(url: str, new: list[str], said: str) -> list[str]:
    """Returns the next command: that which the last one has named."""
    anew = "has no checkpoint yet" in said or "there is no run" in said or not said
    return ["--into", url, *new, "--take-over"] if anew else ["resume", url, "--take-over"]


def one_run(base: Path, url: str, new: list[str], kills: int, rng: random.Random, counts: Counter[str]) -> Path | None:
    """Trains one run over several machines, each of which but the last is killed. Returns its folder; None if it did
    not come to its end."""
    said, left = "", kills
    for attempt in range(8 * kills + 40):
        machine = Machine(base, f"machine{attempt}")
        process = machine.start(*words_for(url, new, said))
        if left and rng.random() < 0.9:
            deadline = time.monotonic() + rng.uniform(0.2, 3.0)
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            if process.poll() is None:
                killed(process)
                counts["kills"] += 1
                left -= 1
                said = "killed"
                continue
        status = process.wait(300)
        text = process.stdout + process.stderr
        if status == 0:
            return machine.folder / "tasks" / "run"
        if "Traceback" in text:
            print(text, flush=True)
            counts["tracebacks"] += 1
            return None
        counts["refused or left"] += 1
        last = text.strip().splitlines()[-1:] or [""]
        if os.environ.get("VERBOSE"):
            print("   ", status, last[0][:300], flush=True)
        local = machine.folder / "tasks" / "run"
        if "To copy the rest" in text and local.exists():  # the sentence names the command
            again = machine.start("sync", "run")
            again.wait(300)
            counts["synced"] += again.returncode == 0
        said = text
    print("no end:", said[-2000:], flush=True)
    return None


def two_writers(base: Path, url: str, new: list[str], counts: Counter[str]) -> bool:
    """Lets a second machine take over a run whose first writer is only asleep. Returns True if the store has the state
    of the second alone, and the first was told."""
    first, second = Machine(base, "first"), Machine(base, "second")
    process = first.start("--into", url, *new)
    index = None
    for _ in range(3000):
        time.sleep(0.01)
        index = _index(url)
        if index is not None and index.checkpoints:
            break
    refused = Machine(base, "refused").start("resume", url)
    refused.wait(300)
    was_refused = refused.returncode == 2 and "is being written by" in refused.stderr
    if process.poll() is not None:
        print("the first writer was too fast", process.stdout, process.stderr)
        return False
    os.killpg(process.pid, signal.SIGSTOP)
    other = second.start("resume", url, "--take-over", "general_cfg.max_total_step=1200")
    status = other.wait(300)
    taken = _index(url)
    os.killpg(process.pid, signal.SIGCONT)
    process.wait(300)
    after = _index(url)
    told = "was taken over by" in process.stdout + process.stderr
    counts["two writers"] += 1
    good = was_refused and status == 0 and told and taken is not None and after == taken and process.returncode == 2
    if not good:
        print("two writers:", was_refused, status, told, after == taken, process.returncode, process.stderr[-1500:],
              other.stderr[-1500:], refused.stderr[-500:], flush=True)  # fmt: skip
    return good


def _index(url: str):  # type: ignore[no-untyped-def]
    """Returns the index in the store, read by a process of its own: s3fs must not begin in one that forks."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:

        def work() -> int:
            from framework.storage.store import Store

            Path(file.name).write_bytes(Store(url).get("joystick.json"))
            return 0

        if Forked(work=work).wait() != 0:
            return None
        from framework.storage.index import Index

        return Index.from_bytes(Path(file.name).read_bytes(), url)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kills", type=int, default=4, help="of each run, at most")
    parser.add_argument("--share", type=float, default=0.05, help="of the requests that go wrong")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--algorithm", choices=list(ALGORITHMS), default="DQN")
    request = parser.parse_args()
    if absent := [name for name in ("moto", "s3fs") if find_spec(name) is None]:
        print(f'not installed here: {", ".join(absent)}; pip install "moto[server]" s3fs', file=sys.stderr)
        return ABSENT
    import torch  # once, before the processes are forked

    import framework.commands.work.sync
    import framework.commands.work.train
    import framework.storage.copies
    import framework.storage.mirror  # noqa: F401

    torch.set_num_threads(1)
    processes._forget_modules_of_tests = lambda: None  # packages may lie in a virtual environment below this one
    rng, counts, faults = random.Random(request.seed), Counter[str](), Counter[str]()
    base = Path(tempfile.mkdtemp(prefix="storage-"))
    os.environ |= {"JOYSTICK_STORAGE_SECONDS": "0.3", "JOYSTICK_LANG": "en"}
    lost = 0
    with s3.server() as port:
        settings = [*ALGORITHMS[request.algorithm], *SETTINGS]
        straight = Machine(base, "straight")
        process = straight.start("--into", "tasks/run", *settings)
        assert process.wait(300) == 0, process.stdout + process.stderr
        expected = end_of(straight.folder / "tasks" / "run")
        print(f"{len(expected)} files are compared", flush=True)
        for number in range(request.runs):
            place = base / f"run{number}"
            place.mkdir()
            proxy = s3.Proxy(port, s3.at_random(request.seed * 1000 + number, request.share))
            os.environ |= s3.environment(proxy.port)
            url = f"s3://{s3.BUCKET}/{number}/run"
            began = time.monotonic()
            run = one_run(place, url, settings, request.kills, rng, counts)
            faults += proxy.counts
            found = {} if run is None else end_of(run)
            proxy.choose = lambda method, path: ""
            other = Machine(place, "reader")
            copied = other.start("resume", url, "--dry-run")
            copied.wait(300)
            stored = end_of(other.folder / "tasks" / "run") if copied.returncode == 0 else {}
            same = found == expected == stored
            lost += not same
            counts["runs"] += 1
            print(
                f"run {number}: {'the same bytes' if same else 'DIFFERENT'}, {time.monotonic() - began:.0f} s",
                flush=True,
            )
            if not same:
                names = {*expected, *found, *stored}
                print(
                    [name for name in names if len({expected.get(name), found.get(name), stored.get(name)}) > 1],
                    copied.stderr[-800:],
                )
            proxy.close()
            shutil.rmtree(place, ignore_errors=True)
        proxy = s3.Proxy(port)
        os.environ |= s3.environment(proxy.port)
        for number in range(max(1, request.runs // 5)):
            place = base / f"two{number}"
            place.mkdir()
            longer = [*settings[:-2], "general_cfg.max_total_step=6000", settings[-1]]
            lost += not two_writers(place, f"s3://{s3.BUCKET}/two{number}/run", longer, counts)
    shutil.rmtree(base, ignore_errors=True)
    print(json.dumps({"tried": counts, "requests": faults}))
    wrong = sum(count for name, count in faults.items() if name not in ("", "requests"))
    record("storage_faults", counts["kills"] + counts["two writers"] + wrong, lost, runs=counts["runs"])
    print(
        "\n| tried | number |\n|---|---|\n"
        + "".join(f"| {name} | {count} |\n" for name, count in sorted(counts.items()))
    )
    print(
        "".join(f"| fault: {name or 'none'} | {count} |\n" for name, count in sorted(faults.items()))
        + f"| lost | {lost} |"
    )
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
