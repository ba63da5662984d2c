"""All runs of a folder, and how far they are: looked at again and again, so what has not changed is not read again."""

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from config.config import PLANNED_LIMITS, GeneralConfig
from config.read.task_files import GROUPS, NOTES, RUN
from config.tell.names import printable
from framework.archive.groups import folders_in, named_runs
from framework.archive.run import RecordedRun, is_run
from framework.disk.task_dir import is_locked
from framework.screen.formatting import number
from framework.screen.outcome import shown

ITERATIONS = 10
"""Number of iterations that the speed is the mean of."""
READ_SECONDS = 0.5
"""Time after which the rest of the runs that are new waits for the next look."""
_PAUSE = re.compile(r"\d{1,15}")
"""Step of a pause, whose name in the file of a stranger may be anything."""
Row = dict[str, Any]
Stamp = tuple[int, int] | None
"""Time of the last change and size of a file; None without the file."""


class ListedRun(NamedTuple):
    """A run."""

    id: str
    """Name that an address can contain."""
    name: str
    folder: Path
    group: Path | None
    """Folder of the seeds, experiments or trials that it belongs to."""


class Read(NamedTuple):
    """A row as it was read, and what it was made from."""

    stamp: Any
    row: Row


class Overview:
    """Rows of the table of runs."""

    def __init__(self, folder: Path) -> None:
        """folder: of the runs; or that of a single run or group."""
        alone = any((folder / name).is_file() for name in (RUN, *GROUPS))
        self.root = folder.parent if alone else folder
        self._only = folder if alone else None
        self._listed: dict[Path, tuple[int, list[ListedRun], bool]] = {}
        """Folder -> the time of its last change, its runs, and True for a group."""
        self._read: dict[Path, Read] = {}
        """Folder of a run -> its row."""
        self._plans: dict[Path, tuple[Stamp, GeneralConfig]] = {}

    def runs(self) -> Iterator[ListedRun]:
        """Yields the runs that there are now, those in the folders that have changed last first."""
        for folder, changed in self._folders():
            yield from self._runs_of(folder, changed)

    def rows(self) -> tuple[dict[str, tuple[ListedRun, Row]], int]:
        """Returns the runs with their rows by their ids, and the number of those that are not read yet."""
        rows: dict[str, tuple[ListedRun, Row]] = {}
        new: list[tuple[Path | ListedRun, int]] = []
        left = 0
        for folder, changed in self._folders():
            if folder not in self._listed:
                new.append((folder, changed))
                continue
            for run in self._runs_of(folder, changed):
                if run.folder in self._read:
                    rows[run.id] = run, self.row(run)
                else:
                    new.append((run, changed))
        until = time.monotonic() + READ_SECONDS  # for what is new alone, or it would wait for ever behind many others
        for place, (item, changed) in enumerate(new):
            if place and time.monotonic() >= until:
                left = len(new) - place
                break
            for run in [item] if isinstance(item, ListedRun) else self._runs_of(item, changed):
                rows[run.id] = run, self.row(run)
        read = {run.folder for run, _ in rows.values()}
        self._read = {folder: entry for folder, entry in self._read.items() if folder in read}
        return rows, left

    def _folders(self) -> list[tuple[Path, int]]:
        """Returns the folders that may be runs or groups, each with the time of its last change, newest first."""
        folders = [self._only] if self._only else folders_in(self.root)
        times = {folder: stamp[0] for folder in folders if (stamp := stamp_of(folder))}
        self._listed = {folder: entry for folder, entry in self._listed.items() if folder in times}
        return sorted(times.items(), key=lambda item: -item[1])

    def _runs_of(self, folder: Path, changed: int) -> list[ListedRun]:
        """Returns the run that a folder is, or those of a group: below a group anything may change without a trace in
        its own folder, so these are looked for each time."""
        seen, runs, is_group = self._listed.get(folder, (None, [], True))
        if is_group or seen != changed:
            runs = list(_members(folder))
            is_group = any((folder / name).is_file() for name in GROUPS)
            self._listed[folder] = changed, runs, is_group
        return runs

    def row(self, run: ListedRun) -> Row:
        """Returns what the table shows of a run."""
        place = os.fspath(run.folder)
        stamp, running = stamp_of(f"{place}/{RUN}"), is_locked(run.folder)
        made_from = stamp, stamp_of(f"{place}/{NOTES}"), running
        read = self._read.get(run.folder)
        if read is None or read.stamp != made_from:
            read = self._read[run.folder] = Read(made_from, self._row(run, running))
        changed = max(status[0] for status in (stamp, stamp_of(place), (0, 0)) if status)
        row = read.row | {"changed": round(changed / 1e9)}
        return row | self._progress(RecordedRun(run.folder)) if running else row

    def _row(self, run: ListedRun, running: bool) -> Row:
        recorded = RecordedRun(run.folder)
        facts, (algorithm, environment) = recorded.facts, recorded.names
        step, seconds = number(facts.step), number(facts.seconds)
        return {
            "id": run.id,
            "name": run.name,
            "group": printable(run.group.name) if run.group else None,
            "algorithm": printable(algorithm),
            "environment": printable(environment),
            "tested": facts.has("score"),
            "state": (state := "running" if running else recorded.state),
            "state_text": printable(shown(state)),
            "running": running,
            "score": recorded.score,
            "step": step,
            "episode": number(facts.episode),
            "update": number(facts.update),
            "speed": number(step / seconds) if step and seconds else None,
            "seconds": seconds,
            "outcome": printable(shown(facts.outcome or "")),
            "pause": max((int(at) for at in facts.pauses or {} if _PAUSE.fullmatch(at)), default=None),
            "seed": number(facts.seed),
            "started": printable(facts.started or ""),
            "tags": recorded.notes.tags,
            "note": bool(recorded.notes.note),
        }

    def _progress(self, run: RecordedRun) -> Row:
        """Returns how far a running run is, by its newest iteration and episode."""
        lines, counts = run.newest_iterations(), run.newest_counts()
        last: Row = lines[-1] if lines else {}
        policy = run.score_policy
        scored: Any = last
        for name in () if policy is None else ("policies", policy):
            scored = scored.get(name) if isinstance(scored, dict) else None
        seconds = number(last.get("seconds_total"))
        share = self._share(run, counts.values())
        return {
            **{name: counts[name] for name in ("step", "episode", "update")},
            "mean": number(scored.get("return_mean") if isinstance(scored, dict) else None),
            "speed": _speed(lines),
            "seconds": seconds,
            "share": share,
            "left": number(seconds * (1 - share) / share) if seconds and share else None,
        }

    def _share(self, run: RecordedRun, counts: Iterable[float | None]) -> float:
        """Returns the share of the planned run that is done. counts: steps, episodes, updates and complete
        iterations."""
        plan = run.task.params
        stamp = stamp_of(plan)  # a resume may have another plan
        if plan not in self._plans or self._plans[plan][0] != stamp:
            general = run.params.get("general_cfg")
            section = general if isinstance(general, dict) else {}
            limits = {name: section[name] for name in PLANNED_LIMITS if number(section.get(name)) is not None}
            self._plans[plan] = stamp, GeneralConfig.model_construct(**limits)
        return self._plans[plan][1].length.share(*(count or 0 for count in counts))


def id_of(name: str) -> str:
    """Returns the id of a run or a group by its name."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def stamp_of(path: str | Path) -> Stamp:
    """Returns when a file was changed, and its size; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _members(folder: Path) -> Iterator[ListedRun]:
    """Yields the runs of a group, or the run that a folder is."""
    for name, run in named_runs(folder):
        if is_run(run):
            yield ListedRun(id_of(name), printable(name), run, None if run == folder else folder)


def _speed(lines: list[Row]) -> float | None:
    """Returns the environment steps per second of the newest iterations, or of all if there are few."""
    newest = [(number(line.get("step")), number(line.get("seconds_total"))) for line in lines[-ITERATIONS:]]
    first, last = newest[0] if len(newest) == ITERATIONS else (0, 0), newest[-1] if newest else (0, 0)
    if None in (*first, *last):
        return None
    steps, seconds = (after - before for before, after in zip(first, last, strict=True))  # type: ignore[operator]
    return number(steps / seconds) if seconds > 0 and steps >= 0 else None
