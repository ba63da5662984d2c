"""Kills the child of --keep-alive at random moments, and compares what comes out with a run that was left alone. Takes
minutes.

python -m tests.stress.keep_alive [NAME ...] [--kills N] [--seed N]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.stress.counts import record

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "main.py"
GENERAL = {"env_name": "toy", "seed": 3, "save_fig": False, "online_eval": True, "online_eval_episode": 2,
           "model_save_fre": 50, "iteration_steps": 100, "max_total_step": 1500, "keep_checkpoints": 3}  # fmt: skip
TASK = ["env_cfg.id=sleep", "env_cfg.seconds=0.004"]
SETTINGS = [*(f"general_cfg.{key}={value}" for key, value in GENERAL.items()), *TASK]
RAY = "general_cfg.mp_backend=ray"
RUNS = {
    "dqn": ["--algo", "DQN"],
    "ppo": ["--algo", "PPO", "algo_cfg.batch_size=64", "algo_cfg.sgd_batch_size=32"],
    "ray": ["--algo", "PPO", "algo_cfg.batch_size=64", "algo_cfg.sgd_batch_size=32", RAY],
}
ENDS = [signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1, signal.SIGUSR2]
"""Signals that a child gets: most often, one that nothing can be done about; the last two ask it to save."""


def outcome(folder: Path) -> dict[str, bytes]:
    """Returns the tables, and the checkpoints with their weights and the places of the journal, by their names."""
    files = [*(folder / "results").glob("*.csv"), *(folder / "models").rglob("state.safetensors")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(MAIN), *words], cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def children_of(pid: int) -> list[int]:
    """Returns the processes that a process has started."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def newest(folder: Path) -> int:
    """Returns the update of the newest checkpoint of a run; -1 if it has none."""
    return max((int(path.name) for path in (folder / "models").glob("*") if path.name.isdecimal()), default=-1)


def kills(supervisor: "subprocess.Popen[str]", run: Path, moments: random.Random, longest: float) -> Iterator[int]:
    """Sends signals to the children of a supervisor at random moments, and yields them, until it ends."""
    reached, in_vain = -1, 0
    while supervisor.poll() is None:
        until = time.monotonic() + moments.uniform(0.2, 0.6 * longest)
        # after eight deaths without a new checkpoint the supervisor gives up, as it promises
        while supervisor.poll() is None and (time.monotonic() < until or (in_vain > 2 and newest(run) <= reached)):
            time.sleep(0.02)
        in_vain = in_vain + 1 if newest(run) <= reached else 0
        reached = newest(run)
        number = moments.choice(ENDS)
        for pid in children_of(supervisor.pid)[:1]:
            os.kill(pid, number)
            yield number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="what to kill: " + ", ".join(RUNS), metavar="NAME")
    parser.add_argument("--kills", type=int, default=20, help="least number of signals that end a child of each run")
    parser.add_argument("--seed", type=int, default=1)
    request = parser.parse_args()
    moments, failures = random.Random(request.seed), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in request.names or RUNS:
            words = [*RUNS[name], *SETTINGS]
            began = time.monotonic()
            straight = start(folder, *words, "--into", name)
            said = straight.communicate()[1]
            assert straight.returncode == 0, said
            longest = time.monotonic() - began
            killed = rounds = different = 0
            while killed < request.kills:
                into = f"{name}_{rounds}"
                supervisor = start(folder, *words, "--into", into, "--keep-alive")
                sent = list(kills(supervisor, folder / into, moments, longest))
                said = supervisor.communicate()[1]
                killed, rounds = killed + said.count("--keep-alive:"), rounds + 1
                same = supervisor.returncode == 0 and outcome(folder / into) == outcome(folder / name)
                failures, different = failures + (not same), different + (not same)
                names = " ".join(signal.Signals(number).name[3:] for number in sent)
                print(f"{into}: {names}: {'the same' if same else 'DIFFERENT'}", flush=True)
                if not same:
                    print(said, flush=True)
            record(f"keep_alive {name}", killed, different)
            print(f"{name}: a child ended {killed} times by a signal, in {rounds} runs", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
