"""Formats numbers, durations, scores and commands for the console and the report."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config.program import PROGRAM
from config.read.paths import as_written
from config.system.terminal import joined, quoted
from config.tell.language import ENGLISH, spoken, tr


def short(value: float) -> str:
    """Returns four significant digits, or all digits from 10,000 on: 0.1235, 12,345."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def short_cell(value: float | None) -> str:
    """Returns a number as a cell; empty if it is not known."""
    return "" if value is None else short(value)


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun: 1 episode, 2,000 episodes. A measure word of the language of this process is part
    of its noun."""
    if count == 1 and spoken() == ENGLISH:
        return f"1 {noun}"
    return tr(f"{{count:,}} {noun}s", count=count)


def listed(values: Mapping[str, float]) -> str:
    """Returns names with their values: loss 0.1, epsilon 0.5."""
    return ", ".join(f"{name} {short(value)}" for name, value in values.items())


def byte_size(count: float) -> str:
    """Returns a number of bytes with its unit: 1.5 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def clock(seconds: float) -> str:
    """Returns a duration as 1:05 or 2:01:05."""
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"


def spread(score: Mapping[str, Any]) -> str:
    """Returns mean and standard deviation of an evaluation; the mean alone of a row without the other."""
    mean, deviation = short(score["mean"]), number(score.get("std"))
    return mean if deviation is None else f"{mean} ± {short(deviation)}"


def between(interval: tuple[float, float] | None) -> str:
    """Returns an interval as a cell; empty if there is none."""
    return tr("{low} to {high}", low=short(interval[0]), high=short(interval[1])) if interval else ""


def scored(score: Mapping[str, Any]) -> str:
    """Returns mean, standard deviation and number of episodes of an evaluation, as far as they are known."""
    if (episodes := number(score.get("episodes"))) is None:
        return spread(score)
    return tr("{score} over {episodes}", score=spread(score), episodes=counted(int(episodes), "episode"))


NOT_LEARNING = tr("docs/tutorials/not_learning.md")
"""Page on runs that are no better than chance."""


def not_above_random(score: float | None, random_return: float | None) -> bool:
    """True if both are known and the score is no better than that of random actions."""
    return score is not None and random_return is not None and score <= random_return


def resume_command(task: Path, allowed: tuple[str, ...] = ()) -> str:
    """Returns the command that resumes a run. allowed: packages that it may import."""
    return f"{PROGRAM}{_allow(allowed)} resume {_place(task)}"


def tune_command(folder: Path, allowed: tuple[str, ...] = ()) -> str:
    """Returns the command that continues a tuning."""
    return f"{PROGRAM}{_allow(allowed)} tune --resume {quoted(str(as_written(folder)))}"


def begin_command(settings: Path, words: tuple[str, ...], task: Path, allowed: tuple[str, ...] = ()) -> str:
    """Returns the command that trains with the settings of a file and of these words, in this task directory if it does
    not exist yet."""
    into = [] if task.exists() else ["--into", str(as_written(task))]
    return f"{PROGRAM}{_allow(allowed)} {joined(['--yaml', str(as_written(settings)), *into, *words])}"


def play_command(task: Path, allowed: tuple[str, ...] = ()) -> str:
    """Returns the command that plays and scores the best model of a run. allowed: packages that it may import."""
    return f"{PROGRAM}{_allow(allowed)} test {_place(task)}"


def video_command(task: Path, allowed: tuple[str, ...] = ()) -> str:
    """Returns the command that films the best model of a run. allowed: packages that it may import."""
    return f"{PROGRAM}{_allow(allowed)} film {_name(task)}"


def sync_command(task: Path) -> str:
    """Returns the command that copies to a store what it lacks of a run."""
    return f"{PROGRAM} sync {_name(task)}"


def compare_command(group: Path) -> str:
    """Returns the command that compares the runs of a group."""
    return f"{PROGRAM} compare {_name(group)}"


def _name(task: Path) -> str:
    """Returns a name under tasks/ for the shell, or a path, as for a name that would be taken for a flag."""
    is_named = as_written(task).parent == Path("tasks") and not task.name.startswith("-")
    return quoted(task.name) if is_named else _place(task)


def _place(task: Path) -> str:
    """Returns a path for the shell; a bare name would be looked for under tasks/, and one with '..' is
    right in this folder alone."""
    short_path = as_written(task)
    return quoted(str(short_path if len(short_path.parts) > 1 and ".." not in short_path.parts else task.resolve()))


def _allow(packages: tuple[str, ...]) -> str:
    return "".join(f" --allow-import {quoted(package)}" for package in packages)


def cell(value: Any) -> str:
    """Returns a setting as a cell: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number(value: Any) -> float | None:
    """Returns a finite number; None for anything else."""
    try:
        return value if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:  # an integer beyond all floats
        return None
