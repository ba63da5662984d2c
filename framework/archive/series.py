"""Series: runs that differ in their seed alone; their names, and the settings in which they differ."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from config.config import HARMLESS, HOW_TO_LOAD
from config.model import policies
from config.read.yaml_reader import DocumentError
from config.tell.language import tr
from config.tell.names import printable
from framework.archive.defaults import defaults_of
from framework.archive.members import experiment_of
from framework.archive.run import RecordedRun
from framework.errors import TaskDirError
from framework.screen.formatting import cell
from framework.screen.stages import each

PROCESSES = {"device", "mp_backend", "n_workers", "n_learners", "run_ahead"}
"""Settings of general_cfg that may change the scores, or the time that they take."""
IGNORED = {f"general_cfg.{key}" for key in ({*HARMLESS} - PROCESSES) | {"seed", *HOW_TO_LOAD}} | {"env_cfg.render_mode"}
"""Settings in which the runs of a series may differ."""
SAME_TASK = {f"env_cfg.{key}" for key in ("n_envs", "action_mask", "vectorization")}
"""Settings of env_cfg that do not change what a return means."""
TASK = {"general_cfg.max_step", "general_cfg.score_policy", "general_cfg.eval_env"}
"""Settings outside of env_cfg that do."""
MOST_IN_A_NAME = 2
"""Number of settings in the name of a series."""
MOST_TRIED = 30
"""Number of settings of which those are looked for that tell all series apart."""
LONGEST_VALUE = 12
"""Characters of a value that is preferred in the name of a series."""
LONGEST_NAME = 40
"""Characters of the name of a series."""


def trained(folder: Path) -> RecordedRun:
    """Returns a training run. Raises TaskDirError for a test, and for a run whose settings cannot be read."""
    run = RecordedRun(folder)
    try:
        if run.is_test:
            raise TaskDirError("{folder} is a test; compare the training run that it tested", folder=folder)
    except DocumentError as error:
        raise TaskDirError("the settings of {folder} cannot be read: {error}", folder=folder, error=error) from None
    return run


def distinguishing(run: RecordedRun) -> dict[str, Any]:
    """Returns the value of each setting that distinguishes a series, by section.key."""
    defaults = defaults_of(run.settings)
    flat = {name: {**defaults.get(name, {}), **keys} for name, keys in policies.flat(run.settings).items()}
    every = {f"{name}.{key}": value for name, keys in flat.items() for key, value in keys.items()}
    return {path: value for path, value in every.items() if path not in IGNORED}


class Series:
    """Runs that differ in their seed alone."""

    def __init__(self, run: RecordedRun, settings: Mapping[str, Any]) -> None:
        """settings: those that distinguish it."""
        self.runs, self.settings = [run], settings
        self.name = ""
        """Short name that no other series in its environment has."""

    @property
    def first(self) -> RecordedRun:
        return self.runs[0]


def gather(folders: Mapping[Path, str]) -> dict[str, list[Series]]:
    """Returns the series of each environment, in the order of the folders, with their names. Runs of two groups are two
    series, even if their settings are equal, unless a word joins them; so are two runs with the same seed: code or
    machine may differ. folders: that of each run, with the word that joins it to others; empty without one."""
    groups: dict[Any, Series] = {}
    for run in map(trained, each(tr("reading settings"), folders, tr("runs"))):
        settings, place = distinguishing(run), 0
        while True:
            key = (folders[run.folder] or run.group, json.dumps(settings, sort_keys=True, default=str), place)
            if key not in groups:
                groups[key] = Series(run, settings)
            elif any(run.seed == other.seed for other in groups[key].runs):
                place += 1
                continue
            else:
                groups[key].runs.append(run)
            break
    sections: dict[str, list[Series]] = {}
    for series in groups.values():
        sections.setdefault(series.first.environment, []).append(series)
    for several in sections.values():
        _name(several)
    return sections


Cells = dict[str, list[str]]
"""Setting -> a cell for each series; empty for one that has no such setting."""


def differing(several: Sequence[Series]) -> tuple[Cells, Cells]:
    """Returns the settings that differ: those that all series have, and those that only some of them have."""
    columns = [series.settings for series in several]
    paths = dict.fromkeys(path for column in columns for path in column)
    tables: tuple[Cells, Cells] = {}, {}
    for path in paths:
        values = [column[path] for column in columns if path in column]
        partial = len(values) < len(columns)
        if partial or any(value != values[0] for value in values):
            tables[partial][path] = [cell(column[path]) if path in column else "" for column in columns]
    return tables


def changes_the_task(path: str) -> bool:
    """Returns True for a setting that changes what a return means."""
    return path in TASK or path.endswith(".evaluate_against") or (path.startswith("env_cfg.") and path not in SAME_TASK)


def _is_long(cells: tuple[str, list[str]]) -> bool:
    return max(map(len, cells[1])) > LONGEST_VALUE


def _name(several: Sequence[Series]) -> None:
    """Names each series by the experiment of a file that it is, or by its algorithm and the first settings in which it
    differs from others with that one."""
    names = {series: _experiment(series.first) for series in several}
    for algorithm in dict.fromkeys(series.first.algorithm for series in several):
        alike = [series for series in several if series.first.algorithm == algorithm and not names[series]]
        names |= dict(zip(alike, _names_of(algorithm, alike), strict=True))
    taken: Counter[str] = Counter()
    for series, name in names.items():
        taken[name] += 1
        series.name = name if taken[name] == 1 else f"{name} ({taken[name]})"


def _experiment(run: RecordedRun) -> str:
    """Returns the name that a file gives the experiment of a run; empty for one that names algorithm and environment
    alone."""
    name = experiment_of(run).removesuffix(run.environment).rstrip()
    return "" if name.lower() == run.algorithm.lower() else _short(printable(name))


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _names_of(algorithm: str, alike: Sequence[Series]) -> list[str]:
    """Returns a name for each series of an algorithm: with its first settings, with fewer where these tell the series
    apart and more are too long to be read whole, or with later ones where only these tell them apart."""
    common, partial = differing(alike)
    cells = sorted([*common.items(), *partial.items()], key=_is_long)[:MOST_TRIED]
    first = cells[:MOST_IN_A_NAME]
    every = []
    for some in chain(
        *(combinations(first, count) for count in range(len(first), 0, -1)),
        *(combinations(cells, count) for count in range(1, MOST_IN_A_NAME + 1)),
    ):
        left_out = " …" if len(some) < len(first) else ""
        rows = [[f"{path.rpartition('.')[2]}={row[place] or '-'}" for path, row in some] for place in range(len(alike))]
        every.append([printable(" ".join([algorithm, *values])) + left_out for values in rows])
    for names in every:
        if max(map(len, names)) <= LONGEST_NAME and len(set(names)) == len(names):
            return names
    names = every[0] if every else [algorithm] * len(alike)
    return list(map(_short, names))
