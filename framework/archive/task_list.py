"""Lists the runs under tasks/: name, algorithm, environment, state, score, age and size."""

import contextlib
import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

from config.program import PROGRAM
from config.read.opening import entries_below
from config.read.paths import as_written
from config.read.task_files import RUN
from config.system.terminal import quoted
from config.tell.language import tr
from config.tell.names import printable
from framework.archive.groups import closed_in, folders_in, named_runs
from framework.archive.run import RecordedRun, is_run
from framework.disk.task_dir import ROOT
from framework.screen.formatting import byte_size, short
from framework.screen.outcome import shown
from framework.screen.stages import each
from framework.screen.tables import aligned
from framework.screen.terminal import fitted
from framework.storage.copy_record import size_in_store

MOST_FILES = 20_000
"""Files whose sizes are added up; a directory from a stranger may hold any number."""


class Listed(NamedTuple):
    """Entry of a run in the list, read from its directory."""

    name: str
    algorithm: str
    environment: str
    state: str
    """running, finished, paused at step N, interrupted or failed."""
    score: float | None
    """Mean return of a test, or of the best model of a training run."""
    age: float
    """Seconds since it last wrote its facts."""
    size: int
    """Bytes of its files."""
    tags: list[str]
    """Tags that the user has given it."""
    note: str
    """Note of the user."""
    reason: str = ""
    """Files of it that are not read, with the reason; else the first line of the error of a failed run, or that it
    recorded none, as a killed one does. Empty for the others."""


_HEADS = (
    tr("name"), tr("algorithm"), tr("environment"), tr("state"), tr("score"), tr("age"), tr("size"), tr("tags"),
)  # fmt: skip


def listing(part: str = "", root: Path = ROOT, tag: str | None = None) -> str:
    """Returns a table of the runs whose name contains `part`, newest first, with their tags if there are any. If a
    terminal is too narrow for it, each name has a line of its own. tag: one that they have."""
    runs = find_runs(part, root, tag)
    left_out = _left_out(part, root) if tag is None else ""
    if not runs:
        return f"{_nothing(part, tag, as_written(root.absolute()))}{of_place(root)}\n{left_out}"
    rows = [_HEADS, *map(_cells, runs)]
    if not any(run.tags for run in runs):
        rows = [row[:-1] for row in rows]
    lines = aligned(rows)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf
    if max(map(len, lines)) > width:
        columns = aligned([row[1:] for row in rows])
        lines = [f"{row[0]}\n  {details}" for row, details in zip(rows, columns, strict=True)]
    reasons = ["", *(f"{fitted(f'  {run.reason}')}\n" if run.reason else "" for run in runs)]
    return "".join(f"{line.rstrip()}\n{reason}" for line, reason in zip(lines, reasons, strict=True)) + left_out


def as_json(part: str = "", root: Path = ROOT, tag: str | None = None) -> str:
    """Returns the runs whose name contains `part` as a list in JSON, newest first. tag: one that they have."""
    return json.dumps([run._asdict() for run in find_runs(part, root, tag)], indent=1, ensure_ascii=False) + "\n"


def find_runs(part: str = "", root: Path = ROOT, tag: str | None = None) -> list[Listed]:
    """Returns the runs whose name contains `part`, newest first. tag: one that they have."""
    named = {name: folder for path in folders_in(root) for name, folder in named_runs(path)}
    chosen = [(name, folder) for name, folder in named.items() if part.lower() in name.lower()]
    listed = (_listed(name, folder) for name, folder in each(tr("reading runs"), chosen, tr("folders")))
    runs = [(changed, run) for changed, run in filter(None, listed) if tag is None or tag in run.tags]
    # not by age: after the clock was set back, several are of age 0
    return [run for _, run in sorted(runs, key=lambda pair: -pair[0])]


def of_place(root: Path) -> str:
    """Returns the end of a sentence about a list without runs, where the working directory is tasks/ or in it; else
    empty."""
    here = Path.cwd()
    place = next((folder for folder in (here, *here.parents) if folder.name == ROOT.name), None)
    if root != ROOT or root.is_dir() or place is None:
        return ""
    return tr("; you are in {place}: type it in {folder}", place=here, folder=place.parent)


def _nothing(part: str, tag: str | None, folder: Path) -> str:
    """Returns a sentence about a list without runs."""
    if part and tag:
        return tr(
            "no runs with {part!r} in their name with the tag {tag!r} in {folder}", part=part, tag=tag, folder=folder
        )
    if part and os.sep in part and os.path.isdir(part):
        return tr(
            "no runs with {part!r} in their name in {folder}; {command} shows the runs in that folder",
            part=part,
            folder=folder,
            command=f"{PROGRAM} watch {quoted(part)}",
        )
    if part:
        return tr("no runs with {part!r} in their name in {folder}", part=part, folder=folder)
    if tag:
        return tr("no runs with the tag {tag!r} in {folder}", tag=tag, folder=folder)
    return tr("no runs in {folder}", folder=folder)


def _left_out(part: str, root: Path) -> str:
    """Returns a line about folders that may not be entered, whose name contains `part`; empty without one."""
    closed = [printable(name) for name in closed_in(root) if part.lower() in name.lower()]
    return f"{fitted(tr('not allowed to read: {names}', names=tr(', ').join(closed)))}\n" if closed else ""


def _without_end(run: RecordedRun) -> str:
    """Returns a sentence about a failed run that has recorded no error."""
    if not run.task.run.exists():
        return tr("{name} is missing", name=RUN)
    if run.facts.outcome:
        return tr("its last model could not be saved, or its best one could not be chosen; logs/log.txt has the reason")
    return tr("no end is recorded, as after kill -9, a second Ctrl-C or a power failure")


def _listed(name: str, folder: Path) -> tuple[float, Listed] | None:
    """Returns when a run last wrote its facts, and what is known of it; None for a folder that is none."""
    if not is_run(folder):
        return None
    run = RecordedRun(folder)
    algorithm, environment = run.names
    changed = _changed(folder)
    return changed, Listed(
        name=printable(name),
        algorithm=printable(algorithm),
        environment=printable(environment),
        state=run.state,
        score=run.score,
        age=round(max(0.0, time.time() - changed), 3),
        size=max(_size(folder), size_in_store(folder)),
        tags=run.notes.tags,
        note=run.notes.note,
        reason=run.unread or (run.reason or _without_end(run) if run.state == "failed" else ""),
    )


def _size(folder: Path) -> int:
    """Returns the bytes of up to MOST_FILES files; a file with two names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for entry in entries_below(folder, strict=False):
        with contextlib.suppress(OSError):  # a run may have deleted it meanwhile
            status = os.lstat(entry.path)  # on Windows entry.stat() knows no numbers of files
            sizes[status.st_dev, status.st_ino] = status.st_size
        if len(sizes) == MOST_FILES:
            break
    return sum(sizes.values())


def _cells(run: Listed) -> tuple[str, ...]:
    score = "-" if run.score is None else short(run.score)
    return (
        run.name,
        run.algorithm,
        run.environment,
        shown(run.state),
        score,
        _age(run.age),
        byte_size(run.size),
        ", ".join(run.tags) or "-",
    )


def _changed(folder: Path) -> float:
    """Returns the time at which a run last wrote its facts. A test or a comparison writes its page anew, which changes
    the folder."""
    with contextlib.suppress(OSError):
        return (folder / RUN).lstat().st_mtime
    return folder.lstat().st_mtime


def _age(seconds: float) -> str:
    if seconds >= 86_400:
        return tr("{count:.0f} d", count=seconds / 86_400)
    if seconds >= 3_600:
        return tr("{count:.0f} h", count=seconds / 3_600)
    return tr("{count:.0f} min", count=seconds / 60) if seconds >= 60 else tr("{count:.0f} s", count=seconds)
