"""The runs of a group by name: one for each seed, or for each experiment and seed, as group.json has them."""

import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from config.read.task_files import GroupFiles
from config.system.files import DEVICES
from config.tell.language import tr
from framework.archive.run import RecordedRun
from framework.disk.facts import GroupFacts
from framework.disk.task_dir import read_facts

MOST_OF_A_NAME = 60
"""Characters of an experiment's name that its folder has."""


class Member(NamedTuple):
    """A run of a group."""

    folder: str
    """Name of its task directory in the folder of the group."""
    file: str = "config.yaml"
    """File with its settings there."""
    experiment: str = ""
    """Experiment that it is a run of; empty if the runs differ in their seed alone."""
    seed: int | None = None
    """None: that of its settings."""

    @property
    def name(self) -> int | str:
        """Name in tables."""
        if self.seed is None:
            return self.experiment
        return f"{self.experiment} {self.seed}" if self.experiment else self.seed

    @property
    def label(self) -> str:
        """Name in sentences: seed 3."""
        seed = "" if self.seed is None else tr("seed {seed}", seed=self.seed)
        return tr(", ").join(filter(None, [self.experiment, seed]))

    @property
    def words(self) -> tuple[str, ...]:
        """Settings that its command adds to those in the file."""
        return () if self.seed is None else (f"general_cfg.seed={self.seed}",)


def of_seeds(seeds: Iterable[int]) -> list[Member]:
    """Returns a run for each seed."""
    return [Member(f"seed_{seed}", seed=seed) for seed in seeds]


def of_experiments(names: Sequence[str], seeds: Sequence[int]) -> list[Member]:
    """Returns a run for each experiment, or one for each of the seeds."""
    return [
        Member(safe if seed is None else f"{safe}_{seed}", f"{safe}.yaml", name, seed)
        for name, safe in zip(names, file_names(names), strict=True)
        for seed in seeds or (None,)
    ]


def file_names(names: Iterable[str]) -> list[str]:
    """Returns a name of a folder for each name, none twice."""
    files: list[str] = []
    for name in names:
        safe = re.sub(r"[^\w-]+", "-", name).strip("-")[:MOST_OF_A_NAME] or "run"
        safe += "_" if safe.lower() in DEVICES else ""
        later = (f"{safe}_{number}" for number in itertools.count(2))
        files.append(next(file for file in itertools.chain([safe], later) if file.lower() not in map(str.lower, files)))
    return files


def group_facts(folder: Path) -> GroupFacts:
    """Returns the facts in group.json; none if it is missing or damaged."""
    return GroupFacts.read(read_facts(GroupFiles(folder).group))


def of_group(folder: Path) -> list[Member]:
    """Returns the runs of a group; none if its files do not say how they begin."""
    return _named(folder, group_facts(folder).names or [])


def experiment_of(run: RecordedRun) -> str:
    """Returns the experiment of its group that a run belongs to; empty for none."""
    members = of_group(run.group) if run.group else []
    return next((member.experiment for member in members if member.folder == run.folder.name), "")


def _named(folder: Path, names: Sequence[int | str]) -> list[Member]:
    """Returns the runs of these names; none if the files beside them do not belong to such runs."""
    if len({type(name) for name in names}) != 1:
        return []
    parts = [str(name).rpartition(" ") for name in names]
    seeds = list(dict.fromkeys(int(seed) for *_, seed in parts if seed.isdecimal()))
    experiments = list(dict.fromkeys(name for name, *_ in parts))
    for members in (
        of_seeds(seeds), of_experiments(list(map(str, names)), ()), of_experiments(experiments, seeds)
    ):  # fmt: skip
        files = (folder / member.file for member in members)
        if [member.name for member in members] == names and all(file.is_file() for file in files):
            return members
    return []
