"""joystick.train: a run for each of several seeds from a Python program, and what a notebook shows of such a group."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from config.model.fields import is_whole
from config.read import tasks
from config.read.arguments import MOST_SEEDS
from config.read.loader import ConfigError
from config.read.paths import as_written
from config.read.task_config import has_config
from config.tell.language import english, tr
from framework.archive import statistics
from framework.archive.curves import Curves
from framework.archive.groups import COUNTS, RunResult, curves_of, result, results_of, summary, unit_of_training
from framework.archive.members import group_facts, of_seeds
from framework.archive.run import RecordedRun
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.disk.task_dir import ROOT, TaskDir
from framework.errors import CtrlC, JoystickError
from framework.jobs import many_runs, members, results
from framework.jobs.group import Group
from framework.pages import cell, figures, html_page
from framework.runs import notebook
from framework.runs.arguments import arguments_for_flags, check_count, check_names, config_of, import_argument
from framework.screen import outcome, terminal
from framework.screen.formatting import between, counted


class TrainedGroup:
    """Runs that differ in their seed alone, by the name or folder of their group. print() shows their table."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        place = tasks.group_named(os.fspath(folder), ROOT)
        seeds = group_facts(place).seeds if place else None
        if place is None or seeds is None:
            raise JoystickError(
                "{folder!r} is not a group of seeds; joystick.train makes one", folder=os.fspath(folder)
            )
        self.folder: Path = place
        """Folder of the group, with a task directory for each run."""
        self.seeds: list[int] = seeds

    @property
    def runs(self) -> list[Path]:
        """Task directories, in the order of the seeds."""
        return [self.folder / member.folder for member in of_seeds(self.seeds)]

    @property
    def results(self) -> list[dict[str, Any]]:
        """A row for each seed: the columns of seeds.csv, as they are now."""
        return [{"seed": row.name, **{key: value for key, value in row._asdict().items() if key != "name"}}
                for row in self._results()]  # fmt: skip

    @property
    def best(self) -> Path:
        """Task directory of the run with the best evaluation, for joystick.load and joystick.Run.resume."""
        rows = [row for row in self._results() if row.best is not None]
        if not rows:
            raise JoystickError("no run of {folder} has an evaluation yet", folder=as_written(self.folder))
        return self.folder / max(rows, key=lambda row: row.best or 0.0).folder

    def plot(self) -> cell.Picture:
        """Draws the runs, and their mean with its interval."""
        lines, quantity, over = self._curves()
        if not lines:
            raise JoystickError("no run of {folder} has a curve yet", folder=as_written(self.folder))
        seeds = [seed for seed, run in zip(self.seeds, self.runs, strict=True) if run.name in lines]
        several = list(lines.values())
        return cell.Picture(
            lambda path: figures.seed_curves(several, path, title=self._task, quantity=quantity, over=over, seeds=seeds)
        )

    def film(self, episodes: int = 1, model: str | int = "best", *, allow_import: Iterable[str] = ()) -> notebook.Film:
        """Plays and films a model of the best run. model: best, latest, or the update of a checkpoint."""
        check_count("film", episodes)
        return notebook.film_of(self.best, model, episodes, allow_import)

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        head = f"{self.title}: {as_written(self.folder)}"
        rows = self._results()
        states = {row.folder: outcome.shown(self._state(row)) for row in rows}
        return "\n".join([head, *results.table_of_runs(rows, states=states)]).strip()

    def _repr_html_(self) -> str:
        return cell.block(self.title, as_written(self.folder), *self.parts())

    def parts(self) -> list[str]:
        """Returns cards, curves and table as HTML."""
        rows = self._results()
        facts = summary(rows)
        interval = statistics.name_of_interval(facts["finished"])
        ended = tr("{count} of {total}", count=facts["finished"], total=counted(len(rows), "seed"))
        shown = [
            (tr("mean"), facts.get("mean")),
            (tr("{interval} of the mean", interval=interval), between(facts.get("mean_interval")) or None),
            (tr("interquartile mean"), facts.get("interquartile_mean")),
            (tr("finished"), ended),
        ]
        count = unit_of_training(rows)
        heads = (tr("seed"), tr("mean"), tr("std"), tr("best"), tr(COUNTS[count]), tr("time (s)"), tr("state"))
        cells = [
            (
                html_page.plain(row.name),
                row.mean,
                row.std,
                row.best,
                getattr(row, count),
                row.seconds,
                outcome.shown(self._state(row)),
            )
            for row in rows
        ]
        return [html_page.cards(shown), self.chart(), html_page.table(heads, cells)]

    def chart(self) -> str:
        """Returns the curves of the runs as HTML: a color for each, while they train."""
        lines, quantity, over = self._curves()
        names = {run.name: tr("seed {seed}", seed=seed) for seed, run in zip(self.seeds, self.runs, strict=True)}
        return notebook.lines_chart({names[folder]: line for folder, line in lines.items()}, quantity, over)

    def _curves(self) -> Curves:
        runs = {run.name: RecordedRun(run) for run in self._begun()}
        curves = curves_of(runs, all(run.general.get("online_eval") for run in runs.values()))
        return curves._replace(lines={name: line for name, line in curves.lines.items() if len(line[0])})

    @property
    def title(self) -> str:
        """Algorithm, environment and number of seeds."""
        return tr("{subject}, {counts}", subject=self._task, counts=counted(len(self.seeds), "seed"))

    @property
    def _task(self) -> str:
        run = next(self._begun(), self.folder)
        return notebook.title_of(RecordedRun(run))

    def _begun(self) -> Iterator[Path]:
        """Yields the task directories that have their settings already."""
        return filter(has_config, self.runs)

    def _results(self) -> list[RunResult]:
        ends = {row.name: row for row in results_of(self.folder, "seed")}
        rows = [(seed, run, ends.get(seed)) for seed, run in zip(self.seeds, self.runs, strict=True)]
        return [
            result(TaskDir(run), seed, end.status if end else None, (end and end.seconds) or 0.0)
            for seed, run, end in rows
        ]

    def _state(self, row: RunResult) -> str:
        run = self.folder / row.folder
        return RecordedRun(run).state if run.is_dir() else english("not started")


def train(
    algo: str | None = None,
    env: Any = None,
    *,
    seeds: int | Iterable[int] | None = None,
    jobs: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> TrainedGroup:
    """Trains a run for each seed to its end, several at once, each in a process and a task directory of its own.

    seeds: the seeds, or their number; None: three. settings: the other arguments of joystick.Run.
    jobs: number of runs at once; None: by the cores. resume: a group that was interrupted, which goes on with its own
    settings, and with the allow_import that it needs. progress: show how far they are, in a notebook below the cell,
    elsewhere on the terminal; None: in a notebook only.
    """
    shown = bool(terminal.kernel()) if progress is None else progress
    if jobs is not None and not is_whole(jobs):
        raise ConfigError("Python: jobs: got {jobs!r:.80}; expected a number of runs at once, 1 or more", jobs=jobs)
    if resume is None:
        check_names("train", settings, config_of, algo)
        chosen = _seeds(3 if seeds is None else seeds, settings)
        config = config_of(algo, env, seed=chosen[0], **settings)
        title = tr("{subject}, {counts}", subject=config.title, counts=counted(len(chosen), "seed"))
        screen = _Screens(shown, title)
        work, status = many_runs.begin({"": config}, title, sys.argv, chosen, jobs, compatibility.check, screen)
    else:
        allowed = settings.pop("allow_import", ())
        if isinstance(allowed, str):
            raise ConfigError("Python: allow_import: got text; expected a list")
        if algo is not None or env is not None or seeds is not None or settings:
            raise ConfigError(
                "Python: resume continues a group with its own settings; give nothing else but jobs and allow_import"
            )
        group = TrainedGroup(resume)
        if not (left := members.unfinished(group.folder)):
            return group
        screen = _Screens(shown, group.title)
        options = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": tuple(allowed)}
        with arguments_for_flags():
            configs = members.with_settings(group.folder, left, (), **options)
        work, status = many_runs.resume(configs, group.folder, (), sys.argv, jobs, compatibility.check, screen)
    screen.settle()
    if status >= 128:
        sentence = tr(
            "{name} is saved: joystick.train(resume={name!r}{imports}) goes on with the runs that have not finished",
            name=str(as_written(work.folder)),
            imports=import_argument(work.config.allow_import),
        )
        raise CtrlC(sentence)
    return _checked(TrainedGroup(work.folder), work)


def _seeds(seeds: Any, settings: Mapping[str, Any]) -> list[int]:
    """Returns the seeds that a number, or a list of them, means."""
    if "seed" in settings:
        raise ConfigError("Python: seed: a group has several; write seeds=[1, 2, 3]")
    chosen = range(1, int(seeds) + 1) if isinstance(seeds, int | np.integer) else seeds
    if isinstance(seeds, bool | str) or not isinstance(chosen, Iterable):
        raise ConfigError(
            "Python: seeds: got {seeds!r:.80}; expected a number of seeds, or seeds in a list", seeds=seeds
        )
    numbers = list(islice(chosen, MOST_SEEDS + 1))
    if len(numbers) > MOST_SEEDS:
        raise ConfigError("Python: seeds: got {seeds!r:.80}; expected at most {most}", seeds=seeds, most=MOST_SEEDS)
    are_seeds = all(is_whole(number, 1, 2**63 - 1) for number in numbers)  # 0 is none: a run with it draws its seed
    if not numbers or len(set(map(str, numbers))) < len(numbers) or not are_seeds:
        raise ConfigError("Python: seeds: got {seeds!r:.80}; expected whole numbers from 1 on, each once", seeds=seeds)
    return [int(number) for number in numbers]


class _Screens:
    """Makes the screen of a group once its folder exists."""

    def __init__(self, shown: object, title: str) -> None:
        self.shown, self.title = bool(shown), title
        self._cell: notebook.Cell | None = None

    def __call__(self, folder: Path | None) -> terminal.Screen:
        if not self.shown:
            return terminal.Screen()
        if folder is None or not terminal.kernel():
            return terminal.choose(sys.stdout)
        curve = notebook.LiveCurve(lambda: TrainedGroup(folder).chart())
        self._cell = notebook.Cell(self.title, as_written(folder), curve, lambda: TrainedGroup(folder).parts())
        return self._cell.begin()

    def settle(self) -> None:
        """Shows the results in place of the progress."""
        if self._cell is not None:
            self._cell.settle(None, self.title, [])


def _checked(group: TrainedGroup, work: Group) -> TrainedGroup:
    """Returns the group. Names the runs that failed; raises JoystickError if all of them did."""
    failed = {stage.label: turn.end.complaint for stage in work.runs if (turn := work.turns[stage]).status and turn.end}
    if len(failed) == len(group.seeds):
        raise JoystickError(
            "all runs of {folder} have failed: {complaint}",
            folder=as_written(group.folder),
            complaint=next(iter(failed.values())),
        )
    for name, complaint in failed.items():
        warning = tr("warning: {name} failed and is left out: {complaint}", name=name, complaint=complaint)
        print(warning, file=sys.stderr)
    return group
