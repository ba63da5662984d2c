"""How numbers, durations, scores and commands are written for a person, on the console and in the report."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def short(value: float) -> str:
    """12,345 or 0.1235."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def listed(values: Mapping[str, float]) -> str:
    """loss 0.1, epsilon 0.5."""
    return ", ".join(f"{name} {short(value)}" for name, value in values.items())


def clock(seconds: float) -> str:
    """1:05, or 2:01:05."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def scored(score: Mapping[str, Any]) -> str:
    """The mean, std and episodes of an evaluation."""
    episodes = int(score["episodes"])
    return f"{short(score['mean'])} ± {short(score['std'])} over {episodes} episode{'' if episodes == 1 else 's'}"


def resume_command(task: Path, allowed: tuple[str, ...] = ()) -> str:
    """The command that goes on with a run; allowed are the packages that it may import."""
    return f"python main.py{_allow(allowed)} --resume {shlex.quote(str(task))}"


def begin_command(settings: Path, seed: int, task: Path, allowed: tuple[str, ...] = ()) -> str:
    """The command that trains one seed with these settings; into this task directory, if it does not exist yet."""
    into = "" if task.exists() else f" --into {shlex.quote(str(task))}"
    return f"python main.py{_allow(allowed)} --yaml {shlex.quote(str(settings))}{into} general_cfg.seed={seed}"


def video_command(task: Path, allowed: tuple[str, ...] = ()) -> str:
    """The command that films the best model of a run."""
    name = task.name if task.parent == Path("tasks") else str(task)
    return (
        f"python main.py{_allow(allowed)} general_cfg.mode=test general_cfg.load_checkpoint=true "
        f"{shlex.quote(f'general_cfg.load_path={name}')} env_cfg.render_mode=rgb_array"
    )


def _allow(packages: tuple[str, ...]) -> str:
    return "".join(f" --allow-import {shlex.quote(package)}" for package in packages)
