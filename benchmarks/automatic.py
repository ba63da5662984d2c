"""Measures `--algo auto` beside the tuned presets, on the same tasks with the same numbers of steps.

python benchmarks/automatic.py [TASK ...] [--seed 1]      measure tasks, by default those without a result
python benchmarks/automatic.py --table                    only print the table of docs/commands.md

Each task is one run. Its best model, by the evaluations of the run, plays 100 new starts, as those of
benchmarks/learning.py do. A share is (score - random) / (preset - random), where preset is the best score of a row of
benchmarks/results/learning.json with at most as many steps. What was interrupted goes on when it is asked for again.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.learning import machine, words_of_test  # noqa: E402
from framework.archive.run import RecordedRun  # noqa: E402
from framework.disk.atomic import write_whole  # noqa: E402
from framework.disk.csv_table import read_csv  # noqa: E402

ROWS = ROOT / "benchmarks" / "results" / "learning.json"
RESULTS = ROOT / "benchmarks" / "results" / "automatic.json"
LEAST = 0.9
"""Share of the preset's score that counts as reached."""


class Task(NamedTuple):
    """An environment, the steps of a run, and how its rows are named."""

    env: str
    steps: int
    row: str = ""
    """Name of the environment in the rows, if it is another one."""
    words: tuple[str, ...] = ()
    """Further settings of the environment."""
    toy: bool = False
    """True for a toy of this project."""

    @property
    def name(self) -> str:
        return self.row or self.env


TASKS = [
    Task("CartPole-v1", 30_000),
    Task("Acrobot-v1", 100_000),
    Task("MountainCar-v0", 120_000),
    Task("LunarLander-v3", 1_020_000),
    Task("Pendulum-v1", 20_000),
    Task("MountainCarContinuous-v0", 50_000),
    Task("LunarLanderContinuous-v3", 1_020_000),
    Task("FrozenLake-v1", 200_000),
    Task("FrozenLake-v1", 40_000, "FrozenLake-v1, not slippery", ("env_cfg.is_slippery=false",)),
    Task("CliffWalking-v1", 50_000),
    Task("Taxi-v4", 45_000),
    Task("InvertedPendulum-v5", 201_000),
    Task("Hopper-v5", 1_010_000),
    Task("Walker2d-v5", 1_010_000),
    Task("HalfCheetah-v5", 1_010_000),
    Task("modes", 31_000, "toy modes, 10 steps", ("env_cfg.steps=10",), toy=True),
    Task("levels", 41_000, toy=True),
    Task("poles", 61_000, toy=True),
    Task("MinAtar/Breakout-v1", 504_000),
    Task("mpe/simple_spread_v3", 500_000),
    Task("BipedalWalker-v3", 3_020_000),
]


def preset(task: Task) -> tuple[str, float, float] | None:
    """Returns the algorithm, score and random score of the best row with at most as many steps."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    found = []
    for name, entry in rows.items():
        env, _, algo = name.rpartition("/")
        is_whole = not name.endswith(", short")  # else it is the beginning of a longer run
        if is_whole and env == task.name and 0 < max(entry["steps"]) <= task.steps:
            found.append((float(np.mean(entry["best"])), algo, float(entry["random"])))
    if not found:
        return None
    score, algo, least = max(found)
    return algo, score, least


def measure(task: Task, seed: int) -> dict[str, Any]:
    """Trains, or goes on, and plays the best model on 100 new starts."""
    folder = Path("tasks") / f"Auto_{task.name.replace('/', '_').replace(' ', '_').replace(',', '')}_{seed}"
    if not folder.exists():
        length = f"general_cfg.max_total_step={task.steps}"
        env = ["general_cfg.env_name=toy", f"env_cfg.id={task.env}"] if task.toy else ["--env", task.env]
        words = [*env, "--algo", "auto", length, f"general_cfg.seed={seed}", *task.words]
        run([*words, "--into", str(folder)])
    elif RecordedRun(folder).state != "finished":
        run(["resume", str(folder)])
    test = folder.with_name(f"{folder.name}_test")
    if not test.exists() or RecordedRun(test).state != "finished":
        run(words_of_test(folder, "best", 100, seed, test))
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "algo": yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))["general_cfg"]["algo_name"],
        "steps": facts["step"],
        "seconds": round(facts["seconds"], 1),
        "seed": seed,
        "score": float(np.mean([float(episode["return"]) for episode in read_csv(test / "results" / "test.csv")])),
    }


def run(words: list[str]) -> None:
    """Runs main.py with these arguments. Raises CalledProcessError if it fails."""
    subprocess.run([sys.executable, str(ROOT / "main.py"), *words], check=True, stdout=subprocess.DEVNULL)


def table(results: dict[str, dict[str, Any]]) -> str:
    """Returns the table, and how many tasks reached their share."""
    lines = [
        "| task | steps | chosen | score | best preset | its score | random | share |",
        "|---|---|---|---|---|---|---|---|",
    ]
    shares = []
    for task in TASKS:
        entry, tuned = results.get(task.name), preset(task)
        if entry is None or tuned is None:
            continue
        algo, score, least = tuned
        shares.append((entry["score"] - least) / (score - least))
        lines.append(
            f"| {task.name} | {entry['steps']:,} | {entry['algo']} | {entry['score']:.1f} | {algo} | {score:.1f} "
            f"| {least:.1f} | {shares[-1]:.2f} |"
        )
    reached = sum(share >= LEAST for share in shares)
    return "\n".join([*lines, "", f"{reached} of {len(shares)} tasks have at least {LEAST:g} of the preset's score."])


def main() -> None:
    """Measures tasks, one after the other; each result is stored at once."""
    parser = argparse.ArgumentParser(description="Measures --algo auto beside the tuned presets.")
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="only print the table")
    request = parser.parse_args()
    results: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if unknown := set(request.tasks) - {task.name for task in TASKS}:
        parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join(task.name for task in TASKS)}")
    for task in () if request.table else TASKS:
        if task.name in request.tasks or (not request.tasks and task.name not in results):
            print(f"== {task.name}, {task.steps:,} steps", file=sys.stderr, flush=True)
            results[task.name] = measure(task, request.seed)
            write_whole(RESULTS, (json.dumps(results, indent=1, sort_keys=True) + "\n").encode())
    print(table(results))


if __name__ == "__main__":
    main()
