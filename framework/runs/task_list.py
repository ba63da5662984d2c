"""Lists the runs under tasks/: name, algorithm, environment, state, score and age."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from config.yaml_reader import DocumentError, read
from framework.runs.task_dir import ROOT, TaskDir

HEAD = ("name", "algorithm", "environment", "state", "score", "age")


def listing(wanted: str = "", root: Path = ROOT) -> str:
    """Returns a table of the runs whose name contains `wanted`, newest first."""
    folders = [path for path in root.iterdir() if wanted.lower() in path.name.lower()] if root.is_dir() else []
    folders.sort(key=lambda path: path.lstat().st_mtime, reverse=True)
    rows = [row for folder in folders for row in _rows(folder)]
    if not rows:
        return f"no runs{f' with {wanted!r} in their name' if wanted else ''} in {root.absolute()}\n"
    widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (HEAD, *rows))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yields the row of a run, or those of the runs in a group of --seeds."""
    if (folder / "seeds.csv").is_file():
        for member in sorted(folder.glob("seed_*")):
            yield from _rows(member)
    elif (folder / "config.yaml").is_file():
        name = folder.name if not folder.name.startswith("seed_") else f"{folder.parent.name}/{folder.name}"
        general, env = _settings(folder / "config.yaml")
        facts = TaskDir(folder).read_run() if (folder / "run.json").is_file() else {}
        shown = (general.get("algo_name", "?"), env.get("id", general.get("env_name", "?")))
        yield (name, *map(str, shown), _state(facts), _score(facts), _age(folder.lstat().st_mtime))


def _settings(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns general_cfg and env_cfg of a run; empty if its config.yaml cannot be read."""
    try:
        value = read(path).value
    except DocumentError:
        return {}, {}
    found = [value.get(key) if isinstance(value, dict) else None for key in ("general_cfg", "env_cfg")]
    general, env = (part if isinstance(part, dict) else {} for part in found)
    return general, env


def _state(facts: dict[str, Any]) -> str:
    if "score" in facts:
        return "tested"
    if "outcome" not in facts:
        return "running or killed"
    return "finished" if facts.get("finished") else "stopped"


def _score(facts: dict[str, Any]) -> str:
    """Returns the mean return of a test, or of the best model of a training run."""
    score = facts.get("score")
    value = score.get("mean") if isinstance(score, dict) else facts.get("best")
    return f"{value:.4g}" if isinstance(value, int | float) else "-"


def _age(modified: float) -> str:
    seconds = max(0.0, time.time() - modified)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
