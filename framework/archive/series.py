"""Series: runs that differ in their seed alone; their names, and the settings in which they differ."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from config.model import policies
from config.read.task_config import load_task_config
from config.read.tasks import group_of
from config.read.yaml_reader import DocumentError
from config.tell.names import printable
from framework.archive import task_list
from framework.disk.task_dir import TaskDir
from framework.errors import TaskDirError
from framework.jobs.results import cell
from framework.pages.html_report import defaults_of
from framework.runs.exactness import HARMLESS
from framework.runs.resume import HOW_TO_LOAD

PROCESSES = {f"general_cfg.{key}" for key in ("device", "mp_backend", "n_workers", "n_learners", "run_ahead")}
"""Settings that may change the scores, or the time that they take."""
IGNORED = (HARMLESS - PROCESSES) | {f"general_cfg.{key}" for key in ("seed", *HOW_TO_LOAD)}
"""Settings in which the runs of a series may differ."""
SAME_TASK = {f"env_cfg.{key}" for key in ("n_envs", "action_mask", "vectorization")}
"""Settings of env_cfg that do not change what a return means."""
TASK = {"general_cfg.max_step", "general_cfg.score_policy"}
"""Settings outside of env_cfg that do."""
MOST_IN_A_NAME = 2
"""Number of settings in the name of a series."""
LONGEST_VALUE = 12
"""Characters of a value that is preferred in the name of a series."""
LONGEST_NAME = 40
"""Characters of the name of a series."""


class Run:
    """A training run, as its folder tells."""

    def __init__(self, folder: Path) -> None:
        """Raises TaskDirError for a test, and for a run whose settings cannot be read."""
        self.folder, self.task = folder, TaskDir(folder)
        try:
            self.sections = load_task_config(folder).settings()
        except DocumentError as error:
            raise TaskDirError(f"the settings of {folder} cannot be read: {error}") from None
        if self.general.get("mode") == "test":
            raise TaskDirError(f"{folder} is a test; compare the training run that it tested")
        self.facts = self.task.read_run()

    @property
    def general(self) -> Mapping[str, Any]:
        return self.sections.get("general_cfg", {})

    @property
    def algorithm(self) -> str:
        return policies.algorithms(self.sections) or "?"

    @property
    def environment(self) -> str:
        return str(self.sections.get("env_cfg", {}).get("id", self.general.get("env_name", "?")))

    @property
    def seed(self) -> Any:
        return self.general.get("seed")

    @cached_property
    def state(self) -> str:
        """running, finished, paused at step N, interrupted or failed."""
        return task_list.state_of(self.folder, self.facts)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Value of each setting that distinguishes a series, by section.key."""
        known = defaults_of(self.sections)
        flat = {name: {**known.get(name, {}), **keys} for name, keys in policies.flat(self.sections).items()}
        every = {f"{name}.{key}": value for name, keys in flat.items() for key, value in keys.items()}
        return {path: value for path, value in every.items() if path not in IGNORED}


class Series:
    """Runs that differ in their seed alone."""

    def __init__(self, run: Run) -> None:
        self.runs = [run]
        self.name = ""
        """Short name that no other series in its environment has."""

    @property
    def first(self) -> Run:
        return self.runs[0]


def gather(folders: Iterable[Path]) -> dict[str, list[Series]]:
    """Returns the series of each environment, in the order of the folders, with their names. Runs of two groups are two
    series, even if their settings are equal; so are two runs with the same seed: code or machine may differ."""
    found: dict[Any, Series] = {}
    for run in map(Run, folders):
        group, place = group_of(run.folder), 0
        while True:
            key = (group, json.dumps(run.settings, sort_keys=True, default=str), place)
            if key not in found:
                found[key] = Series(run)
            elif any(run.seed == other.seed for other in found[key].runs):
                place += 1
                continue
            else:
                found[key].runs.append(run)
            break
    sections: dict[str, list[Series]] = {}
    for series in found.values():
        sections.setdefault(series.first.environment, []).append(series)
    for several in sections.values():
        _name(several)
    return sections


Cells = dict[str, list[str]]
"""Setting -> a cell for each series; empty for one that has no such setting."""


def differing(several: Sequence[Series]) -> tuple[Cells, Cells]:
    """Returns the settings that differ: those that all series have, and those that only some of them have."""
    columns = [series.first.settings for series in several]
    paths = dict.fromkeys(path for column in columns for path in column)
    found: tuple[Cells, Cells] = {}, {}
    for path in paths:
        values = [column[path] for column in columns if path in column]
        partial = len(values) < len(columns)
        if partial or any(value != values[0] for value in values):
            found[partial][path] = [cell(column[path]) if path in column else "" for column in columns]
    return found


def changes_the_task(path: str) -> bool:
    """Returns True for a setting that changes what a return means."""
    return path in TASK or (path.startswith("env_cfg.") and path not in SAME_TASK)


def _is_long(cells: tuple[str, list[str]]) -> bool:
    return max(map(len, cells[1])) > LONGEST_VALUE


def _name(several: Sequence[Series]) -> None:
    """Names each series by its algorithm, and by the first settings in which it differs from others with that one."""
    taken: dict[str, int] = {}
    for series in several:
        algorithm = series.first.algorithm
        alike = [other for other in several if other.first.algorithm == algorithm]
        common, partial = differing(alike)
        cells = sorted([*common.items(), *partial.items()], key=_is_long)[:MOST_IN_A_NAME]
        values = (f"{path.rpartition('.')[2]}={row[alike.index(series)] or '-'}" for path, row in cells)
        name = printable(" ".join([algorithm, *values]))
        name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        taken[name] = taken.get(name, 0) + 1
        series.name = name if taken[name] == 1 else f"{name} ({taken[name]})"
