"""Measures the replay buffers for loops of one's own, beside those of Tianshou: microseconds for each call.

python benchmarks/data_layer.py [--peer PYTHON] [--repeats 3]

PYTHON is that of a virtual environment with tianshou==2.0.1; without it, its cells stay empty. The sides take turns,
one process at a time; a cell is the median over the turns, and a ratio the median of the ratios of single turns. Exit
status 1: a goal was missed.
"""

import argparse
import json
import os
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

SIDES = ("ours", "tianshou")
STORED, ROWS, BATCH = 100_000, 64, 64
"""Number of stored steps, of environments, and of samples."""
GOALS = {
    "add": 15.0,
    "add, as a Batch": 15.0,
    "add 64 rows": 60.0,
    "sample 64": 1000.0,
    "prioritized: sample 64": 1000.0,
    "prioritized: update 64": 1000.0,
    "prioritized: sample, then update": 1000.0,
}
"""Name of a measurement -> upper limit in microseconds."""
RATIO = 2.0
"""Times as fast as Tianshou that each of them should be."""

Calls = dict[str, tuple[Callable[[], Any], int]]
"""Name of a measurement -> a call, and the number of calls that are timed at once."""


def calls(data: Any, plain_add: Callable[[Any, dict[str, Any]], Any]) -> Calls:
    """Returns the calls on filled buffers of a library. plain_add: adds one transition in its fastest way."""
    obs, rng = np.arange(4, dtype=np.float32), np.random.default_rng(0)
    one = {"obs": obs, "act": 1, "rew": 1.0, "terminated": False, "truncated": False, "obs_next": obs + 1, "info": {}}
    flags = np.zeros(ROWS, bool)
    rows = data.Batch(
        obs=np.zeros((ROWS, 4), np.float32),
        act=np.zeros(ROWS, np.int64),
        rew=np.ones(ROWS),
        terminated=flags,
        truncated=flags,
        obs_next=np.ones((ROWS, 4), np.float32),
        info=data.Batch(),
    )
    plain, vector = data.ReplayBuffer(STORED), data.VectorReplayBuffer(STORED, ROWS)
    prioritized = data.PrioritizedReplayBuffer(STORED, alpha=0.6, beta=0.4)
    for _ in range(STORED // ROWS + 1):
        vector.add(rows)
    for _ in range(STORED):
        plain_add(plain, one)
        plain_add(prioritized, one)
    indices, errors = rng.integers(0, STORED, BATCH), rng.random(BATCH)

    def learn() -> None:
        _, drawn = prioritized.sample(BATCH)
        prioritized.update_weight(drawn, errors)

    learn()
    return {
        "add": (lambda: plain_add(plain, one), 2000),
        "add, as a Batch": (lambda: plain.add(data.Batch(**one)), 2000),
        "add 64 rows": (lambda: vector.add(rows), 200),
        "sample 64": (lambda: plain.sample(BATCH), 500),
        "prioritized: sample 64": (lambda: prioritized.sample(BATCH), 500),
        "prioritized: update 64": (lambda: prioritized.update_weight(indices, errors), 500),
        "prioritized: sample, then update": (learn, 500),
    }


def measured(side: str) -> dict[str, float]:
    """Returns the microseconds of each call of a side, the best of seven series."""
    if side == "ours":
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
        import joystick as data

        work = calls(data, lambda buffer, one: buffer.add(**one))
    else:
        import tianshou.data as data

        work = calls(data, lambda buffer, one: buffer.add(data.Batch(**one)))
    best = {name: min(timeit.repeat(call, number=count, repeat=7)) / count for name, (call, count) in work.items()}
    return {name: seconds * 1e6 for name, seconds in best.items()}


def turn(python: str, side: str) -> dict[str, float]:
    """Returns the measurements of a side, in a process of its own with one thread."""
    command = [python, __file__, "--side", side]
    threads = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=threads, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, ours: list[float], theirs: list[float]) -> tuple[str, bool]:
    """Returns a line of the table, and true if its goals are met."""
    ratio = median(there / here for here, there in zip(ours, theirs, strict=True)) if theirs else None
    cells = [f"{median(side):.1f}" if side else "" for side in (ours, theirs)]
    line = f"| {name} | {cells[0]} | {cells[1]} | {'' if ratio is None else f'{ratio:.1f}'} | {GOALS[name]:g} |"
    return line, median(ours) <= GOALS[name] and (ratio is None or ratio >= RATIO)


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", help="python of an environment with tianshou==2.0.1")
    parser.add_argument("--repeats", type=int, default=3, help="number of turns")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    request = parser.parse_args()
    if request.side:
        print(json.dumps(measured(request.side)))
        return 0
    pythons = {"ours": sys.executable, **({"tianshou": request.peer} if request.peer else {})}
    turns = [{side: turn(python, side) for side, python in pythons.items()} for _ in range(max(1, request.repeats))]
    print("| microseconds | ours | Tianshou 2.0.1 | Tianshou : ours | at most |\n|---|---|---|---|---|")
    met = []
    for name in GOALS:
        ours, theirs = ([one[side][name] for one in turns if side in one] for side in SIDES)
        line, reached = row(name, ours, theirs)
        print(line)
        met.append(reached)
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
