"""Answers to the page: the table of runs, and the curves, files and messages of those that it shows."""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from config.tell.names import printable
from framework.archive.run import RecordedRun
from framework.disk.lines import last_lines
from framework.live.curve_tail import CurveTail
from framework.live.files import Files
from framework.live.overview import ListedRun, Overview

MOST_SHOWN = 12
"""Number of runs that are shown at once."""
MOST_CURVES = 64
"""Number of curves that are kept, so that only what is new is read."""
NOT_DRAWN = ("episode", "step", "update", "terminated", "seed", "worker", "row")
"""Columns of episodes that say which one it is."""
MOST_COLUMNS = 200
"""Number of columns that can be drawn."""
LOG_BYTES = 2**14
"""Bytes at the end of the log that are shown."""
Answer = dict[str, Any]


class Answers:
    """Answers one request at a time. `token` is what a request must know."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.token = secrets.token_urlsafe(32)
        self.overview = Overview(self.folder)
        self.files = Files()
        self._curves: OrderedDict[tuple[Path, str], CurveTail] = OrderedDict()
        self._lock = threading.Lock()

    def now(self, ids: Sequence[str], column: str) -> Answer:
        """Returns all runs, running ones first, and more about those that are shown. column: of train.csv."""
        with self._lock:
            runs = list(self.overview.runs())
            rows = sorted(map(self.overview.row, runs), key=lambda row: (not row["running"], row["age"]))
            groups = {run.group: printable(run.group.name) for run in runs if run.group}
            by_id = {run.id: run for run in runs}
            return {
                "folder": printable(str(self.folder)),
                "runs": rows,
                "groups": {name: self._group(group) for group, name in groups.items()},
                "shown": {key: self._details(by_id[key], column) for key in ids[:MOST_SHOWN] if key in by_id},
            }

    def _group(self, folder: Path) -> Answer:
        return {"files": [file._asdict() for file in self.files.of(folder, [""])]}

    def _details(self, run: ListedRun, column: str) -> Answer:
        recorded = RecordedRun(run.folder)
        curve, more = self._read(recorded.task.train, column)
        evaluations, waiting = self._read(recorded.task.eval, "mean")
        offered = [name for name in curve.columns if name not in NOT_DRAWN]
        return {
            "line": curve.line.points(),
            "evaluations": evaluations.line.points() if column == "return" else [],
            "columns": [name for name in offered[:MOST_COLUMNS] if printable(name) == name],
            "more": more or waiting,
            "started": printable(recorded.facts.started or ""),
            "files": [file._asdict() for file in self.files.of(run.folder)],
            "log": last_lines(recorded.task.log, LOG_BYTES),
            "errors": last_lines(recorded.task.errors, LOG_BYTES),
        }

    def _read(self, path: Path, column: str) -> tuple[CurveTail, bool]:
        """Returns a curve with what is new, and True if there is more to read."""
        curve = self._curves.setdefault((path, column), CurveTail(path, column))
        self._curves.move_to_end((path, column))
        while len(self._curves) > MOST_CURVES:
            self._curves.popitem(last=False)
        return curve, curve.read()
