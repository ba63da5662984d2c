"""Settings of all runs, as columns of the overview: read when they are asked for, and again when they change."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from config.read.task_files import TaskFiles
from config.tell.names import printable
from framework.archive.run import RecordedRun
from framework.live.overview import ListedRun, Stamp, stamp_of
from framework.screen.formatting import cell, number

READ_SECONDS = 0.3
"""Time after which the rest of the files waits for the next question."""
MOST_KEYS = 500
"""Number of settings of a run."""
MOST_COLUMNS = 30
"""Number of columns that are answered at once."""
LONGEST = 60
"""Characters of a value that are shown."""
Cells = dict[str, Any]


class Settings:
    """Values of settings by section.key, of each run."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[Stamp, Cells]] = {}

    def answer(self, runs: Sequence[ListedRun], columns: Sequence[str], named: bool) -> dict[str, Any]:
        """Returns the cells of columns; with `named` also all settings that can be columns, those that differ first."""
        until, left = time.monotonic() + READ_SECONDS, 0
        for run in runs:
            stamp = stamp_of(TaskFiles(run.folder).params)
            if run.folder in self._read and self._read[run.folder][0] == stamp:
                continue
            if time.monotonic() < until:
                self._read[run.folder] = stamp, _cells(run.folder)
            else:
                left += 1
        cells = {run.id: self._read[run.folder][1] for run in runs if run.folder in self._read}
        return {
            "names": _names(cells.values()) if named else None,
            "cells": {key: [values.get(name) for name in columns[:MOST_COLUMNS]] for key, values in cells.items()},
            "left": left,
        }


def _cells(folder: Path) -> Cells:
    """Returns the settings of a run, of policies too: numbers as they are, anything else as text."""
    cells: Cells = {}

    def add(path: str, value: Any) -> None:
        if len(cells) >= MOST_KEYS:
            return
        if isinstance(value, dict) and value and path.count(".") < 3:
            for key, part in value.items():
                add(f"{path}.{key}" if path else str(key), part)
        elif path and value is not None:
            plain = number(value) is not None and not isinstance(value, bool)
            cells[printable(path)] = value if plain else printable(cell(value)[:LONGEST])

    add("", RecordedRun(folder).params)
    return cells


def _names(runs: Iterable[Cells]) -> list[tuple[str, bool]]:
    """Returns the settings, and True for those that differ; these first."""
    first: Cells = {}
    counts: dict[str, int] = {}
    differing: set[str] = set()
    number_of_runs = 0
    for cells in runs:
        number_of_runs += 1
        for name, value in cells.items():
            counts[name] = counts.get(name, 0) + 1
            if first.setdefault(name, value) != value:
                differing.add(name)
    differing |= {name for name, count in counts.items() if count < number_of_runs}
    names = sorted(first, key=lambda name: (name not in differing, name))
    return [(name, name in differing) for name in names[:MOST_KEYS]]
