"""Drives a tuning: asks for settings, trains by the course of the scheduler, and writes what it leaves.

There is no state but the files: a session that was killed is repeated from the scores in the task directories of the
trials, and goes on with the first stage that is missing.
"""

import itertools
import math
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from config.config import GeneralConfig
from config.read.loader import RunConfig
from config.read.opening import read_regular
from config.read.paths import as_written
from config.read.yaml_reader import MAX_BYTES, DocumentError, dumped, parse
from config.tell.cells import padded
from config.tell.error_text import shown
from config.tell.language import tr
from framework.archive.groups import begun, curves_of
from framework.archive.members import Member, of_seeds
from framework.archive.run import RecordedRun
from framework.archive.trials import TrialResult, combined, facts, tuning_facts
from framework.disk.atomic import ensure_folder, recover, write_whole
from framework.disk.task_dir import add_facts
from framework.errors import JoystickError, TaskDirError
from framework.jobs import optuna_search, results
from framework.jobs.job import Job, Waiting
from framework.jobs.processes import Runner, StageEnd, is_locked
from framework.jobs.schedulers import Course, Leg, Scores, Trial, ranked
from framework.jobs.search import Outcome, Settings
from framework.jobs.stages import Stage
from framework.jobs.tuning_plan import SCORES, Ready, TuningPlan
from framework.pages import figures, tuning_page
from framework.runs.signals import StopSignals
from framework.screen.formatting import begin_command, counted, play_command, resume_command, short, video_command
from framework.screen.stages import stage
from framework.screen.terminal import Screen

FAILED = 1
"""Exit status if no trial has come to its end with a score, or if the machine has kept the tuning from its end."""
_FAILURE = {"status", "reason"}
"""Facts of a trial that failed."""


@dataclass
class TrialState:
    """A trial of this tuning."""

    trial: Trial
    ready: Ready
    score: float = math.nan
    """Score at the last rung that it has reached."""
    legs: set[int | None] = field(default_factory=set)
    """Ends of its legs that are done."""
    state: str = "waiting"
    failure: dict[str, Any] = field(default_factory=dict)
    """Exit status and reason of a trial that failed."""

    @property
    def reached(self) -> float:
        """Step of the last rung that it has reached; infinity at its end."""
        return max((math.inf if until is None else until for until in self.legs), default=0)


class Tuner(Job):
    """One session of a tuning."""

    def __init__(self, plan: TuningPlan, folder: Path, runner: Runner, screen: Screen) -> None:
        super().__init__(folder, runner, screen, in_cluster=plan.cfg.ray_address is not None)
        self.plan, self.cfg = plan, plan.cfg
        self.paths = [domain.path for domain in plan.domains]
        self.records: dict[str, TrialState] = {}
        self.legs: list[Leg] = []
        """Legs that are trained now."""
        self.final: dict[str, float] = {}
        """Scores of the trials that were trained to the last rung."""
        self.best: Trial | None = None
        self.failures = _failures(self.files.tuning)
        self.session = "running"
        """running, interrupted or ended."""
        self.broken = False
        """True if the machine has ended a trial, which a later session tries again."""

    # the course -------------------------------------------------------------------------------------------

    def run(self, stop: StopSignals) -> None:
        """Trains until the course ends. Raises Waiting if it is asked to stop before."""
        number = 0
        while batch := self._ask():
            trials = [Trial(f"{number + place:03}", settings) for place, settings in enumerate(batch)]
            number += len(trials)
            for trial in trials:
                self.add(trial)
            self.write()
            scores = self.follow(self.plan.course(trials), stop)
            self.final |= scores
            self.plan.search.tell([self.outcome(trial, scores) for trial in trials])
        candidates = [self.records[name].trial for name in self.final]
        best = next(iter(ranked(candidates, self.final, self.cfg.mode)), None)
        self.best = None if best is None or math.isnan(self.final[best.name]) else best
        self.session = "ended"

    def _ask(self) -> list[Settings]:
        with stage(tr("choosing settings")):
            return self.plan.search.ask()

    def outcome(self, trial: Trial, scores: Scores) -> Outcome:
        """Returns what a search is told of a trial. scores: of the last legs."""
        record = self.records[trial.name]
        return Outcome(
            trial.settings, None if record.failure else _or_none(record.score), len(record.legs), trial.name in scores
        )

    def follow(self, course: Course, stop: StopSignals) -> Scores:
        """Trains as the scheduler says, as long as there are trials that have not failed. Returns the scores of the
        last legs."""
        legs = next(course)
        scores: Scores = {}
        while legs:
            for leg in legs:
                if leg.trial.name not in self.records:
                    self.add(leg.trial)
            self.train(legs, stop)
            scores = self.note(legs)
            self.write()
            try:
                legs = course.send(scores)
            except StopIteration:
                break
        return scores

    def add(self, trial: Trial) -> None:
        """Writes the settings of a trial, unless an earlier session has."""
        record = self.records[trial.name] = TrialState(trial, self.plan.ready(trial.settings))
        record.failure = self.failures.get(trial.name, {})
        for place in {task.parent for task in self.tasks(trial)}:
            recover(place)
        path, data = self.file(trial), record.ready.text.encode()
        ensure_folder(path.parent)
        if not path.exists():
            write_whole(path, data)
        elif not _same_settings(read_regular(path, MAX_BYTES), data, path.name):
            raise JoystickError(
                "{path} has other settings than {config} gives trial {name} now: one of "
                "them, or the program, has changed; start a new tuning",
                path=as_written(path),
                config=as_written(self.files.config),
                name=trial.name,
            )

    def file(self, trial: Trial) -> Path:
        return self.files.trials / f"{trial.name}.yaml"

    def members(self, trial: Trial) -> list[Member]:
        """Returns the runs of a trial in its folder: one for each seed."""
        first, count = self.records[trial.name].ready.seed, self.cfg.seeds
        return of_seeds(range(first, first + count)) if count > 1 else [Member("")]

    def tasks(self, trial: Trial) -> list[Path]:
        """Returns the task directories of a trial."""
        return [self.files.trials / trial.name / member.folder for member in self.members(trial)]

    def stages(self, leg: Leg) -> list[Stage]:
        """Returns the stages of a leg, one for each seed."""
        trial, config = leg.trial, self.records[leg.trial.name].ready.config
        address = config.general.ray_address if config else None
        where = [f"general_cfg.ray_address={address}"] if address else []
        parents = self.tasks(self.records[trial.parent].trial) if trial.parent else itertools.repeat(None)
        return [
            Stage(
                trial.name, f"{trial.name} {member.label}".rstrip(), self.file(trial), task, leg.until,
                (*where, *member.words), source, trial.born, config.allow_import if config else (),
                self.evaluated(config),
            )
            for member, task, source in zip(self.members(trial), self.tasks(trial), parents, strict=False)
        ]  # fmt: skip

    def evaluated(self, config: RunConfig | None) -> bool:
        """Returns True if trials are evaluated when they are compared."""
        return self.cfg.score in SCORES or (config is not None and config.general.online_eval)

    # running it -------------------------------------------------------------------------------------------

    def train(self, legs: Iterable[Leg], stop: StopSignals) -> None:
        """Runs all stages of some legs that are not done."""
        self.legs = list(legs)
        until = self.legs[0].until
        goal = tr("at the end") if until is None else tr("at step {step:,}", step=until)
        try:
            self.complete([stage for leg in self.legs for stage in self.stages(leg)], goal, stop)
        except Waiting:
            self.note(self.finished_legs())
            raise

    def over(self, stage: Stage) -> bool:
        """Returns True if a stage is done, or its trial has failed."""
        return stage.done() or bool(self.records[stage.trial].failure)

    def ended(self, end: StageEnd) -> None:
        """Takes note of a trial that has failed, once: another of its seeds may fail, too. One that the machine has
        ended is left for a later session."""
        stage = end.stage
        if self.over(stage) or end.stopped:
            return
        reason = end.complaint or tr("it has ended without a result")
        if end.passes:
            self.broken = True
            self.screen.say(
                tr(
                    "warning: trial {label} was ended by an error of the machine; it is tried again when the tuning "
                    "goes on: {reason}",
                    label=stage.label,
                    reason=reason,
                ),
                "red",
            )
            return
        self.failures[stage.trial] = self.records[stage.trial].failure = {"status": end.status, "reason": reason}
        self.records[stage.trial].state = "failed"
        self.screen.say(
            tr(
                "warning: trial {label} failed with status {status} and is left out: {reason}",
                label=stage.label,
                status=end.status,
                reason=reason,
            ),
            "red",
        )
        self.write()

    def note(self, legs: Iterable[Leg]) -> Scores:
        """Returns the scores of legs that are over. A trial that has failed later counts here as it did then."""
        scores, cfg = {}, self.cfg
        for leg in legs:
            record, tasks = self.records[leg.trial.name], self.tasks(leg.trial)
            if not all(stage.done() for stage in self.stages(leg)):
                record.state = "failed"
                continue
            score = combined([RecordedRun(task).score_at(leg.until, cfg.score, cfg.mode) for task in tasks])
            record.score = scores[leg.trial.name] = math.nan if score is None else score
            record.legs.add(leg.until)
            record.state = "finished" if all(RecordedRun(task).facts.finished for task in tasks) else "paused"
        return scores

    def refresh(self) -> None:
        """Writes the files and the page."""
        self.note(self.finished_legs())
        self.write()
        self.report()

    def finished_legs(self) -> list[Leg]:
        """Returns the legs of which nothing is left to run: their scores are known before the comparison comes."""
        return [leg for leg in self.legs if all(map(self.over, self.stages(leg)))]

    def general(self, stage: Stage) -> GeneralConfig:
        config = self.records[stage.trial].ready.config
        return config.general if config else GeneralConfig()

    # files ------------------------------------------------------------------------------------------------

    def write(self, more: Mapping[str, Any] | None = None) -> None:
        """Writes tune.json and trials.csv."""
        trials = {
            record.trial.name: {
                "settings": dict(zip(self.paths, record.trial.settings, strict=True)),
                **({"parent": record.trial.parent, "at_step": record.trial.born} if record.trial.parent else {}),
            }
            for record in self.records.values()
        }
        add_facts(self.files.tuning, {"trials": trials, "failed": self.failures, **(more or {})})
        results.write_trials(self.folder, self.paths, self.rows())

    def rows(self) -> list[TrialResult]:
        """Returns a row for each trial, in their order."""
        replaced = {_of(name) for name in self.records if "_" in name}
        return [self.row(record, record.trial.name in replaced) for record in self.records.values()]

    def row(self, record: TrialState, replaced: bool) -> TrialResult:
        cells = facts(self.tasks(record.trial), self.cfg.mode)
        status = record.failure.get("status", 0 if record.state in ("paused", "finished") else None)
        state = "replaced" if replaced else self.state(record)
        folder = self.files.trials / record.trial.name
        return TrialResult(
            record.trial, state, _or_none(record.score), cells["best"], cells["step"], cells["seconds"], status, folder,
            cells["last_return"],
        )  # fmt: skip

    def state(self, record: TrialState) -> str:
        """Returns the state of a trial: as of its last comparison, unless it has begun to go on."""
        if record.state in ("finished", "failed"):
            return record.state
        if any(stage.trial == record.trial.name for stage in self.runner.running):
            return "running"
        begun = [RecordedRun(task).state for task in self.tasks(record.trial) if task.exists()]
        starting = record.state == "waiting" and any(map(is_locked, self.stages(Leg(record.trial, None))))
        if "running" in begun or starting:
            return "running"
        return "interrupted" if {"interrupted", "failed"} & set(begun) else record.state

    # the end ----------------------------------------------------------------------------------------------

    def finish(self, stop: StopSignals) -> int:
        """Writes the best settings, draws and prints; of a tuning that was interrupted, says how to go on. Returns the
        exit status."""
        if self.session != "ended":
            self.session = "interrupted"
            self.write()
            self.report()
            self.screen.say(tr("to go on: {command}", command=self.plan.resume_command(self.folder)))
            if stop.received is not None:
                return stop.exit_status
            return FAILED if self.broken else 128 + signal.SIGTERM
        say, cfg = self.screen.say, self.cfg
        if self.best is None:
            self.write({"finished": True, "best": None})
            self.report()
            say(tr("no trial has come to its end with a score; trials.csv and tune.json say why"), "red")
            return FAILED
        best = self.records[self.best.name]
        self.write({"finished": True, "best": best.trial.name, "score": best.score})
        rows = self.by_score()
        for line in results.table_of_trials(self.paths, rows):
            say(line)
        config = best.ready.config
        self._write_best(best, rows[0])
        figure = self._draw(config, rows) if config and config.general.save_fig else None
        files = {tr("table"): self.files.table("trial"), tr("curves"): figure, tr("report"): self.report()}
        if config is None:
            files[tr("settings")] = self.files.best
        text = tr("trial {name}, {score} {value}", name=best.trial.name, score=cfg.score, value=short(best.score))
        say(f"{padded(tr('best'), 11)}  {text}", "bold")
        reached = [record for record in self.records.values() if record.reached == best.reached]
        if (equal := sum(record.score == best.score for record in reached)) > 1:
            say(tr("note: {trials} have this score; best is the first of them", trials=counted(equal, "trial")))
        for label, path in files.items():
            if path is not None:
                say(f"{padded(label, 11)}  {as_written(path)}")
        if config is not None:
            command = begin_command(self.files.best, (), self.folder, config.allow_import)
            say(f"{padded(tr('to train it'), 11)}  {command}")
        return 0

    def _write_best(self, best: TrialState, row: TrialResult) -> None:
        """Writes best.yaml: a file for --yaml, whose first line says what return to expect."""
        tasks, ready = self.tasks(best.trial), best.ready
        score = combined([RecordedRun(task).score_at(None, "evaluation", self.cfg.mode) for task in tasks])
        promise = "" if score is None else f"Return {np.format_float_positional(score, 6, trim='-')}: "
        steps = f"{row.step or 0:,} step{'' if row.step == 1 else 's'}"
        remark = f"trial {best.trial.name} of {as_written(self.folder)}, after {steps}"
        text = replace(ready.config, expected_return=None).to_yaml() if ready.config else ready.text
        write_whole(self.files.best, f"# {promise}{remark}\n{text}".encode())

    def _draw(self, config: RunConfig, rows: Sequence[TrialResult]) -> Path | None:
        """Draws a line for each run; returns None if there are no curves. rows: the best one first."""
        tasks = [self.tasks(row.trial) for row in rows]
        runs = {task.relative_to(self.files.trials).as_posix(): RecordedRun(task) for seeds in tasks for task in seeds}
        lines, quantity, over = curves_of(runs, config.general.online_eval)
        best = sum(name in lines for name in list(runs)[: len(tasks[0])])

        def draw(path: Path) -> None:
            figures.trial_curves(lines, path, title=config.title, quantity=quantity, over=over, best=best)

        return results.draw(self.folder, draw, self.screen.say) if lines else None

    def by_score(self) -> list[TrialResult]:
        """Returns the rows of all trials: those that were trained to the end, best first; then those that came less
        far."""
        rows = {row.trial.name: row for row in self.rows()}
        sign = -1 if self.cfg.mode == "max" else 1

        def place(record: TrialState) -> tuple[float, bool, float]:
            step, unknown = rows[record.trial.name].step or 0, math.isnan(record.score)
            return -record.reached, unknown, -step if unknown else sign * record.score

        # those of the last legs first, since of equal ones the first of them is the best
        known = [self.records[name] for name in dict.fromkeys([*self.final, *self.records])]
        return [rows[record.trial.name] for record in sorted(known, key=place)]

    def report(self) -> Path | None:
        """Writes report.html, of a tuning that may go on."""
        return self.write_page(lambda: tuning_page.write(self._contents()))

    def _contents(self) -> tuning_page.TuningContents:
        rows, best = self.by_score(), self.best
        configs = [config for record in self.records.values() if (config := record.ready.config)]
        runs = {row.trial.name: RecordedRun(self.tasks(row.trial)[0]) for row in rows}
        return tuning_page.TuningContents(
            folder=self.folder,
            title=tr("Tuning: {subject}", subject=configs[0].title) if configs else self.folder.name,
            domains=self.plan.domains,
            cfg=self.cfg,
            rows=rows,
            best=next((row for row in rows if row.trial == best), None),
            reasons={name: str(failure.get("reason", "")) for name, failure in self.failures.items()},
            curves=results.curves(runs, configs, self.cfg.score),
            runs=runs,
            commands=self._commands(configs),
            session=self.session,
            patience=self.patience,
            begun=begun(self.folder),
            importance=optuna_search.importance_of(self.plan.domains, rows),
        )

    def _commands(self, configs: Sequence[RunConfig]) -> list[tuple[str, str]]:
        """Returns what can be done next; nothing with the best trial of a function of the user's own. The page of a
        tuning that runs shows its command only if the tuning turns out to have been killed."""
        if self.session != "ended":
            return [(tr("Continue the tuning"), self.plan.resume_command(self.folder))]
        if self.best is None or not configs:
            return []
        task, allowed = self.tasks(self.best)[0], configs[0].allow_import
        rows = [
            (tr("Train with the best settings"), begin_command(self.files.best, (), self.folder, allowed)),
            (tr("Train the best trial further, with a higher limit behind it"), resume_command(task, allowed)),
            (tr("Play and score its best model"), play_command(task, allowed)),
        ]
        if RecordedRun(task).facts.can_film is not False:
            rows.append((tr("Film its best model"), video_command(task, allowed)))
        return rows


def _same_settings(one: bytes, other: bytes, name: str) -> bool:
    """Returns True if two files have the same settings; comments are in the language of who wrote them."""
    if one == other:
        return True
    try:
        first, second = (dumped(parse(data.decode(), name).value) for data in (one, other))
    except (DocumentError, UnicodeDecodeError):
        return False
    return first == second


def _failures(file: Path) -> dict[str, Any]:
    """Returns exit status and reason of the trials that have failed, by their names."""
    failed = tuning_facts(file.parent).failed
    if isinstance(failed, dict) and all(
        isinstance(failure, dict) and failure.keys() >= _FAILURE for failure in failed.values()
    ):
        return failed
    raise TaskDirError(
        "{path}: failed: got {failed}; expected status and reason of each trial that has "
        "failed, by its name; without the entry all of them are trained",
        path=as_written(file),
        failed=shown(failed),
    )


def _or_none(score: float) -> float | None:
    return None if math.isnan(score) else score


def _of(name: str) -> str:
    """Returns the trial whose place a copy has taken: 007 of 007_2, 007_2 of 007_3."""
    number, _, life = name.partition("_")
    return number if life == "2" else f"{number}_{int(life) - 1}"
