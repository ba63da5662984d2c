"""Lists the runs under tasks/: name, algorithm, environment, state, score, age and size."""

import contextlib
import json
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from config.model import policies
from config.read.opening import entries_below, read_regular, unreadable
from config.read.yaml_reader import MAX_BYTES, DocumentError, parse
from config.tell.names import printable
from framework.disk.task_dir import CLOSED, FAILED, MOST_BYTES, PAUSED, ROOT, TaskDir, is_locked
from framework.screen.formatting import byte_size, number, short

MOST_FILES = 20_000
"""Files whose sizes are added up; a directory from a stranger may hold any number."""
MOST_CHARACTERS = 500
"""Characters of an error that are shown; run.json of a stranger may hold any number."""
READ = {"config.yaml": MAX_BYTES, "run.json": MOST_BYTES}
"""Files of a run that are read -> the size of the largest one that is."""
_NAMES = re.compile(r"^(?:(?:  )?\w+:|  (?:  )?algo_name: .*|  (?:env_name|id): .*)$", re.MULTILINE)
"""Lines of a config.yaml that name algorithm and environment: reading all of it takes 10 ms."""


class Listed(NamedTuple):
    """A run, as far as its directory tells."""

    name: str
    algorithm: str
    environment: str
    state: str
    """running, finished, paused at step N, interrupted or failed."""
    score: float | None
    """Mean return of a test, or of the best model of a training run."""
    age: float
    """Seconds since the last change in its folder."""
    size: int
    """Bytes of its files."""
    reason: str = ""
    """Files of it that are not read, with the reason; else the first line of the error of a failed run. Empty if it
    left none, as a killed one does."""


def listing(wanted: str = "", root: Path = ROOT) -> str:
    """Returns a table of the runs whose name contains `wanted`, newest first. If a terminal is too narrow for it,
    each name has a line of its own."""
    runs = found(wanted, root)
    if not runs:
        return f"no runs{f' with {wanted!r} in their name' if wanted else ''} in {root.absolute()}\n"
    rows = [Listed._fields[:-1], *map(_cells, runs)]
    lines = _columns(rows)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf
    if max(map(len, lines)) > width:
        rest = _columns([row[1:] for row in rows])
        lines = [f"{row[0]}\n  {details}" for row, details in zip(rows, rest, strict=True)]
    reasons = ["", *(f"  {run.reason}\n" if run.reason else "" for run in runs)]
    return "".join(f"{line}\n{reason}" for line, reason in zip(lines, reasons, strict=True))


def as_json(wanted: str = "", root: Path = ROOT) -> str:
    """Returns the runs whose name contains `wanted` as a list in JSON, newest first."""
    return json.dumps([run._asdict() for run in found(wanted, root)], indent=1, ensure_ascii=False) + "\n"


def found(wanted: str = "", root: Path = ROOT) -> list[Listed]:
    """Returns the runs whose name contains `wanted`, newest first."""
    named = {name: folder for path in folders_in(root) for name, folder in members(path)}
    runs = (_listed(name, folder) for name, folder in named.items() if wanted.lower() in name.lower())
    return sorted((run for run in runs if run), key=lambda run: run.age)


def folders_in(root: Path) -> list[Path]:
    """Returns the folders in a folder; links are left out."""
    try:
        with os.scandir(root) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def members(folder: Path) -> list[tuple[str, Path]]:
    """Returns name and folder of each run of a group or of a tuning, or of the folder itself."""
    if (folder / "tune.json").is_file():
        trials = [] if (folder / "trials").is_symlink() else folders_in(folder / "trials")
        runs = [run for trial in trials for run in ([trial] if (trial / "run.json").exists() else folders_in(trial))]
    elif (folder / "group.json").is_file():
        runs = folders_in(folder)
    else:
        return [(folder.name, folder)]
    return [(f"{folder.name}/{run.relative_to(folder)}", run) for run in runs]


def _listed(name: str, folder: Path) -> Listed | None:
    """Returns what is known of a run; None for a folder that is none."""
    if not (folder / "config.yaml").is_file() and not (folder / "run.json").is_file():
        return None
    facts = TaskDir(folder).read_run()
    algorithm, environment = names_of(folder)
    state = state_of(folder, facts)
    return Listed(
        name=printable(name),
        algorithm=printable(algorithm),
        environment=printable(environment),
        state=state,
        score=score_of(facts),
        age=round(max(0.0, time.time() - folder.lstat().st_mtime), 3),
        size=_size(folder),
        reason=_unread(folder) or (_reason(facts) if state == "failed" else ""),
    )


def _unread(folder: Path) -> str:
    """Returns which files of a run are not read, and why; empty if all are."""
    faults = ((name, unreadable(folder / name, most)) for name, most in READ.items())
    return "; ".join(f"{name} is not read: {fault}" for name, fault in faults if fault)


def names_of(folder: Path) -> tuple[str, str]:
    """Returns algorithm and environment as config.yaml names them."""
    try:
        text = read_regular(folder / "config.yaml", MAX_BYTES).decode(errors="replace")
        short_text = "\n".join(_NAMES.findall(text))
        value = parse(short_text, "config.yaml").value
        if not isinstance(value, dict) or not _section(value, "general_cfg"):
            value = parse(text, "config.yaml").value
    except (OSError, DocumentError):
        return "?", "?"
    general, env = _section(value, "general_cfg"), _section(value, "env_cfg")
    return policies.algorithms(value) or "?", str(env.get("id", general.get("env_name", "?")))


def _section(value: Any, name: str) -> dict[str, Any]:
    section = value.get(name) if isinstance(value, dict) else None
    return section if isinstance(section, dict) else {}


def state_of(folder: Path, facts: dict[str, Any]) -> str:
    """Returns the state of a run: running, finished, paused at step N, interrupted or failed."""
    if is_locked(folder):
        return "running"
    if facts.get("finished") or "score" in facts:
        return "finished"
    if str(facts.get("outcome")).startswith(PAUSED):
        return printable(str(facts["outcome"]))
    return "interrupted" if facts.get("outcome") in ("interrupted", CLOSED) else "failed"


def _reason(facts: dict[str, Any]) -> str:
    """Returns the error that has ended a run; empty if it left none."""
    text = str(facts.get("outcome"))
    return printable(text.removeprefix(FAILED).strip()[:MOST_CHARACTERS]) if text.startswith(FAILED) else ""


def score_of(facts: dict[str, Any]) -> float | None:
    """Returns the mean return of a test, or of the best model of a training run; None if there is none yet."""
    score = facts.get("score")
    value = score.get("mean") if isinstance(score, dict) else facts.get("best")
    return number(value)


def _size(folder: Path) -> int:
    """Returns the bytes of up to MOST_FILES files; a file with two names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for entry in entries_below(folder, strict=False):
        with contextlib.suppress(OSError):  # a run may have deleted it meanwhile
            status = entry.stat(follow_symlinks=False)
            sizes[status.st_dev, status.st_ino] = status.st_size
        if len(sizes) == MOST_FILES:
            break
    return sum(sizes.values())


def _cells(run: Listed) -> tuple[str, ...]:
    score = "-" if run.score is None else short(run.score)
    return (run.name, run.algorithm, run.environment, run.state, score, _age(run.age), byte_size(run.size))


def _columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Returns rows as lines with aligned columns."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
