"""Shows that a run costs the same at its end as at its beginning: over 2,000,000 steps and 100,000 episodes.

python benchmarks/flat.py [--steps 2300000] [--figure docs/images/flat.png]

Trains PPO, whose learning rate is almost 0 so that episodes stay as short as those of the random policy, and looks at
its process five times a second. Prints steps/s, memory and open files in each tenth of the run, and draws them. Exit
status 1: the last tenth is slower than the first by more than a fifth, has taken more than a fifth more memory, or more
files.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
ROWS = 16
PARTS = 10


class Look(NamedTuple):
    """State of the run at a moment."""

    second: float
    step: int
    memory: float
    """Resident memory in MiB."""
    files: int
    """Number of open files."""


def command(steps: int) -> list[str]:
    """Returns the run that is looked at."""
    return [
        sys.executable, str(ROOT / "main.py"), "--algo", "PPO", "general_cfg.seed=1", "env_cfg.id=CartPole-v1",
        f"env_cfg.n_envs={ROWS}", f"algo_cfg.batch_size={ROWS * 128}", f"algo_cfg.sgd_batch_size={ROWS * 32}",
        "algo_cfg.k_epochs=1", "algo_cfg.lr=1e-30", f"general_cfg.max_total_step={steps}", "general_cfg.max_episode=-1",
        "general_cfg.max_step=-1", "general_cfg.model_save_fre=200000", "general_cfg.model_save_unit=step",
        "general_cfg.keep_checkpoints=2", "general_cfg.torch_threads=1", "--into", "run",
    ]  # fmt: skip


def looks(steps: int, folder: Path) -> list[Look]:
    """Returns what was seen of the run while it trained."""
    from framework.disk.csv_table import last_row

    found: list[Look] = []
    process = subprocess.Popen(command(steps), cwd=folder, stdout=subprocess.DEVNULL)
    place, begin = Path(f"/proc/{process.pid}"), time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        row = last_row(folder / "run" / "results" / "train.csv")
        try:
            pages, files = int((place / "statm").read_text().split()[1]), len(list((place / "fd").iterdir()))
        except OSError:
            break
        if row is not None and (not found or row["step"] > found[-1].step):  # the file grows every second or so
            found.append(Look(time.monotonic() - begin, int(row["step"]), pages * 4096 / 2**20, files))
    if process.wait():
        raise SystemExit(f"the run ended with status {process.returncode}")
    return [look for look in found if look.step < steps * 0.99]


def table(found: list[Look], steps: int) -> tuple[list[str], list[tuple[float, float, int]]]:
    """Returns the lines of the table, and speed, memory and files of each tenth."""
    lines = ["| steps | steps/s | memory, MiB | open files |", "|---|---|---|---|"]
    parts = []
    for part in range(PARTS):
        here = [look for look in found if part * steps <= look.step * PARTS < (part + 1) * steps]
        if len(here) < 2:
            raise SystemExit("the run was too short to be looked at; raise --steps")
        speed = (here[-1].step - here[0].step) / (here[-1].second - here[0].second)
        parts.append((speed, median(look.memory for look in here), max(look.files for look in here)))
        begin, end = part * steps // PARTS, (part + 1) * steps // PARTS
        lines.append(f"| {begin:,} to {end:,} | {speed:,.0f} | {parts[-1][1]:,.0f} | {parts[-1][2]} |")
    return lines, parts


def draw(found: list[Look], file: Path) -> None:
    """Draws memory and steps over the seconds."""
    from matplotlib.figure import Figure

    figure = Figure((8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    seconds = [look.second for look in found]
    left.plot(seconds, [look.step / 1e6 for look in found])
    left.set(xlabel="seconds", ylabel="million steps", ylim=(0, None))
    right.plot([look.step / 1e6 for look in found], [look.memory for look in found])
    right.set(xlabel="million steps", ylabel="memory, MiB", ylim=(0, 1.2 * max(look.memory for look in found)))
    file.parent.mkdir(exist_ok=True)
    figure.savefig(file, dpi=100)


def main() -> int:
    """Returns the exit status: 1 if the cost is not flat."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2_300_000, help="environment steps of the run")
    parser.add_argument("--figure", type=Path, help="file of the picture")
    request = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = looks(request.steps, Path(folder))
        rows = (Path(folder) / "run" / "results" / "train.csv").read_text().count("\n") - 1
    lines, parts = table(found, request.steps)
    print(*lines, "", f"{rows:,} episodes.", sep="\n")
    if request.figure:
        draw(found, request.figure)
    (speed, memory, files), (last_speed, last_memory, last_files) = parts[0], parts[-1]
    return int(last_speed < 0.8 * speed or last_memory > 1.2 * memory or last_files > files)


if __name__ == "__main__":
    sys.exit(main())
