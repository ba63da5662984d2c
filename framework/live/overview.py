"""All runs of a folder, and how far they are: looked at again and again, so what has not changed is not read again."""

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from config.config import GeneralConfig
from config.read.task_files import GROUPS, RUN
from config.tell.names import printable
from framework.archive.groups import folders_in, members
from framework.archive.run import RecordedRun, is_run
from framework.disk.task_dir import is_locked, read_facts
from framework.screen.formatting import number

ITERATIONS = 10
"""Number of iterations that the speed is the mean of."""
LIMITS = ("max_total_step", "max_episode", "max_update", "max_iteration", "iteration_steps")
"""Settings that tell how long a run is planned to be."""
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


class Overview:
    """Rows of the table of runs."""

    def __init__(self, folder: Path) -> None:
        """folder: of the runs; or that of a single run or group."""
        alone = any((folder / name).is_file() for name in (RUN, *GROUPS))
        self.root = folder.parent if alone else folder
        self._only = folder if alone else None
        self._cache: dict[Path, tuple[tuple[Stamp, bool], Row]] = {}
        """Folder of a run -> its row, with what it was made from."""
        self._plans: dict[Path, tuple[Stamp, GeneralConfig]] = {}

    def runs(self) -> Iterator[ListedRun]:
        """Yields the runs that there are now."""
        for folder in [self._only] if self._only else folders_in(self.root):
            for name, run in members(folder):
                if is_run(run):
                    identity = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
                    yield ListedRun(identity, printable(name), run, None if run == folder else folder)

    def row(self, run: ListedRun) -> Row:
        """Returns what the table shows of a run."""
        stamp, running = _stamp(run.folder / RUN), is_locked(run.folder)
        cached = self._cache.get(run.folder)
        if cached is None or cached[0] != (stamp, running):
            cached = (stamp, running), self._read(run, running)
            self._cache[run.folder] = cached
        row = dict(cached[1])
        if running:
            row |= self._progress(RecordedRun(run.folder))
        changed = max(status[0] for status in (stamp, _stamp(run.folder), (0, 0)) if status)
        row["age"] = max(0, round(time.time() - changed / 1e9))
        return row

    def _read(self, run: ListedRun, running: bool) -> Row:
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
            "state": "running" if running else recorded.state,
            "running": running,
            "score": recorded.score,
            "step": step,
            "episode": number(facts.episode),
            "update": number(facts.update),
            "speed": number(step / seconds) if step and seconds else None,
            "seconds": seconds,
            "outcome": printable(facts.outcome or ""),
        }

    def _progress(self, run: RecordedRun) -> Row:
        """Returns how far a running run is, by its newest iteration and episode."""
        lines, episode = run.newest_iterations(), run.newest_episode() or {}
        last: Row = lines[-1] if lines else {}
        counts = {
            name: max((value for row in (last, episode) if (value := number(row.get(name))) is not None), default=None)
            for name in ("step", "episode", "update")
        }
        seconds = number(last.get("seconds_total"))
        share = self._share(run.task.params, counts)
        return {
            **counts,
            "mean": number(last.get("return_mean")),
            "speed": _speed(lines),
            "seconds": seconds,
            "share": share,
            "left": number(seconds * (1 - share) / share) if seconds and share else None,
        }

    def _share(self, plan: Path, counts: Row) -> float:
        """Returns the share of the planned run that is done. plan: the file of its settings."""
        stamp = _stamp(plan)  # a resume may have another plan
        if plan not in self._plans or self._plans[plan][0] != stamp:
            general = read_facts(plan).get("general_cfg")
            section = general if isinstance(general, dict) else {}
            limits = {name: section[name] for name in LIMITS if number(section.get(name)) is not None}
            self._plans[plan] = stamp, GeneralConfig.model_construct(**limits)
        return self._plans[plan][1].share(*(counts[name] or 0 for name in ("step", "episode", "update")))


def _speed(lines: list[Row]) -> float | None:
    """Returns the environment steps per second of the newest iterations, or of all if there are few."""
    newest = [(number(line.get("step")), number(line.get("seconds_total"))) for line in lines[-ITERATIONS:]]
    first, last = newest[0] if len(newest) == ITERATIONS else (0, 0), newest[-1] if newest else (0, 0)
    if None in (*first, *last):
        return None
    steps, seconds = (after - before for before, after in zip(first, last, strict=True))  # type: ignore[operator]
    return number(steps / seconds) if seconds > 0 and steps >= 0 else None


def _stamp(path: Path) -> Stamp:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
