"""Time that the empty rows of benchmarks/learning.yaml take, and changes since the others were measured."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from benchmarks.learning_page import ROOT, BenchmarkError, Entry, Row
from framework.catalog import ALGOS

CODE = {
    "algorithm": ("algos/{algo}", "algos/common"),
    "memory": ("framework/memory",),
    "loop": ("framework/loop", "framework/collect"),
}
"""Name of what a row is made with -> folders of its code."""


LEAST_START = 4
"""Number of letters with which the names of alike tasks begin, such as LunarLander-v3 and LunarLanderContinuous-v3."""


class Estimate(NamedTuple):
    """Length of a row, and the time that it takes."""

    row: Row
    steps: int
    """Environment steps of a run; 0 if its length is not in steps."""
    seconds: float | None
    """Seconds of all its runs, one after the other; None without a row to go by."""
    by: str
    """Measured row whose steps per second were taken."""
    is_alike: bool = True
    """False if that row is of a task with another name: the environment may be many times slower."""


def estimates(rows: Iterable[Row], results: Mapping[str, Entry]) -> list[Estimate]:
    """Returns how long rows take, the cheapest first; rows without an estimate are last. A row without a preset has
    none, and is left out."""
    known = []
    for row in rows:
        try:
            steps = planned_steps(row)
        except BenchmarkError:
            continue
        speed, by = speed_of(row, results)
        seconds = steps * row.seeds / speed if speed and steps else None
        known.append(Estimate(row, steps, seconds, by, alike_letters(by.rpartition("/")[0], row.env) >= LEAST_START))
    return sorted(known, key=lambda one: (one.seconds is None, one.seconds or 0.0))


def planned_steps(row: Row) -> int:
    """Returns the environment steps of a run of a row; 0 if its length is not in steps. The environment's package need
    not be installed."""
    preset = yaml.safe_load(row.file().read_text(encoding="utf-8"))
    steps = preset.get("general_cfg", {}).get("max_total_step", 0)
    for word in row.changes():
        name, _, value = word.partition("=")
        steps = value if name == "general_cfg.max_total_step" else steps
    return max(int(steps), 0)


def speed_of(row: Row, results: Mapping[str, Entry]) -> tuple[float, str]:
    """Returns the steps per second of the nearest measured row, and its name: of the same task and algorithm, of the
    algorithm, or of the task; of several that of the task whose name begins alike, or the middle one. 0 without one."""

    def likeness(name: str) -> tuple[int, int]:
        env, _, algo = name.removesuffix(", short").rpartition("/")
        start = alike_letters(env, row.env)
        return 2 * (algo == row.algo) + (env == row.env), start if start >= LEAST_START else 0

    speeds = {
        name: float(np.sum(entry["steps"]) / np.sum(entry["seconds"]))
        for name, entry in results.items()
        if likeness(name)[0] and any(entry["steps"])
    }
    most = max(map(likeness, speeds), default=None)
    nearest = sorted((name for name in speeds if likeness(name) == most), key=speeds.__getitem__)
    name = nearest[(len(nearest) - 1) // 2] if nearest else ""
    return speeds.get(name, 0.0), name


def alike_letters(first: str, second: str) -> int:
    """Returns the number of letters with which two names begin alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def stale(row: Row, entry: Entry) -> Iterator[str]:
    """Yields what has changed since a row was measured: its settings, and the commits in the code that it ran."""
    if entry["settings"] != row.settings():
        yield "settings"
    commit = str(entry["commit"] or "")[:40]
    for name, folders in CODE.items():
        count = commits_since(commit, [folder.format(algo=ALGOS.get(row.algo).__name__.split(".")[-1])
                                       for folder in folders])  # fmt: skip
        if count is None:
            yield f"commit {commit[:10] or 'unknown'} is not in this clone"
            return
        if count:
            yield f"{name}: {count} commits"


def commits_since(commit: str, folders: list[str], root: Path = ROOT) -> int | None:
    """Returns the number of commits in these folders since one; None if this clone does not have it."""
    words = ["git", "-C", str(root), "rev-list", "--count", f"{commit}..HEAD", "--", *folders]
    answer = subprocess.run(words, capture_output=True, text=True)
    return int(answer.stdout) if commit and answer.returncode == 0 else None
