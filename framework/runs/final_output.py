"""End-of-run output: random policy, figure, video, report and summary. A failure costs a warning, never the run."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from algos.base import EnvSpec
from config import machine
from config.read.loader import RunConfig
from config.read.task_files import REPORT
from config.tell.language import tr
from config.tell.system_errors import reason_of
from framework.archive.find import tests_of
from framework.archive.run import RecordedRun
from framework.assemble import build
from framework.assemble.fit import drawing_faults
from framework.collect.env_calls import Watch
from framework.disk.task_dir import TaskDir, is_locked
from framework.errors import Interrupted
from framework.film.film import Taped, file_name, film_into
from framework.loop import profile
from framework.loop.evaluator import Evaluation
from framework.loop.iteration import Score
from framework.loop.trainer import Trainer
from framework.pages import figures, html_report
from framework.policies.policy_plan import plan
from framework.record.console import Console, Outcome
from framework.record.recorders import Tape
from framework.record.run_log import RunLog
from framework.runs.remarks import remarks
from framework.screen.formatting import counted, not_above_random, short
from framework.screen.stages import stage

T = TypeVar("T")


class Ending(NamedTuple):
    """Facts about the end of a training run."""

    reason: str
    """Stop rule that was met, or interrupted."""
    finished: bool
    """False if the run was interrupted. run.json has false, too, if the last model could not be saved or the best one
    not be chosen."""
    score: Score
    random_return: float | None = None
    figure: Path | None = None
    chosen: bool = True
    """False if the best model could not be chosen."""


class FilmSelection(NamedTuple):
    """Choice of the played episodes that a video shows, and their arrangement."""

    worst: bool = False
    """The episodes with the lowest returns, the lowest first: one, or as many as the grid has places."""
    grid: tuple[int, int] | None = None
    """Rows and columns of episodes side by side; None: one after another."""

    @property
    def columns(self) -> int:
        """Number of episodes side by side; 0: one after another."""
        return self.grid[1] if self.grid else 0

    def fault(self, config: RunConfig) -> str:
        """Returns why these settings cannot give such a video; empty if they can."""
        if not self.grid:
            return ""
        if config.env.FILM[0] == "text":
            return tr("--grid is for pictures, and this environment gives text; leave it out")
        places, played = math.prod(self.grid), config.general.max_episode
        return (
            tr(
                "--grid shows {places} episodes, and {played} are played; add --episodes {places}",
                places=places,
                played=played,
            )
            if played < places
            else ""
        )

    def of(self, evaluation: Evaluation, tape: Tape) -> list[Taped]:
        """Returns the episodes to film, numbered as in test.csv."""
        taped = [
            Taped(number, episode, tape.episodes[episode.row, episode.number])
            for number, episode in enumerate(evaluation.episodes, start=1)
        ]
        if self.worst:
            score = evaluation.score
            taped.sort(key=lambda film: film.episode.metrics.get(score, math.inf) if score else film.episode.total)
        if self.grid:
            return taped[: math.prod(self.grid)]
        return taped[:1] if self.worst else taped


ALL_PLAYED = FilmSelection()


class FinalOutput:
    """Figure, videos, report and summary of a run or a test. A failure costs a warning."""

    def __init__(self, config: RunConfig, task: TaskDir, console: Console) -> None:
        self.config, self.task, self.console = config, task, console

    def guarded(self, failure: str, work: Callable[[], T]) -> T | None:
        """Runs a part of the end. An error becomes a warning, and the result None; Interrupted passes."""
        try:
            return work()
        except Interrupted:
            raise
        except Exception as error:  # the run is complete and saved, whatever fails now
            self.console.log_traceback(error)
            self.console.warn(f"{failure}: {reason_of(error)}")
            return None

    def write_run(self, facts: Mapping[str, Any]) -> None:
        """Adds facts to run.json."""
        self.guarded(tr("run.json could not be written"), lambda: self.task.write_run(facts))

    def tell(self, trainer: Trainer, log: RunLog, ending: Ending, check: Callable[[], None] = lambda: None) -> None:
        """Writes run.json and report.html, and prints the summary of a training run. `check` is called before the
        summary and may raise."""
        score, run = ending.score, RecordedRun(self.task.path)
        evaluations = run.evaluations
        mean = evaluations[-1]["mean"] if evaluations and score.update is not None else None
        worse = not_above_random(mean, ending.random_return)
        best = self.task.models / "best"
        facts = {
            "outcome": ending.reason,
            # a resume, also of its group, goes on where the last model could not be saved or the best not be chosen
            "finished": ending.finished and ending.chosen and not trainer.points.unsaved,
            **so_far(trainer),
            "best": score.mean,
            "best_update": score.update,
            "random_return": ending.random_return,
            "worse_than_random": worse,
            "can_film": not drawing_faults(self.config),
            **_policies(self.config, trainer.agent.spec),
        }
        parts = trainer.profile.parts() if trainer.profile else []
        if parts:
            facts["profile"] = [part._asdict() for part in parts]
        self.write_run(facts)
        if ending.finished:
            for remark in remarks(self.config, trainer.count, trainer.agent.spec, ending.reason, run, bool(worse)):
                self.console.warn(remark)
            latest = trainer.evaluator.latest
            if latest is not None and (endless := latest.endless()):
                self.console.warn(endless)
        self.write_report()  # with the warnings, which it shows
        videos = sorted(self.task.videos.glob("video.*"))
        left = (self.task.config, self.task.path / REPORT, self.task.results / "learning_curve.png", *videos)
        log.loggers.files([path for path in left if path.is_file()])
        check()
        outcome = Outcome(
            task=self.task.path,
            reason=ending.reason,
            finished=ending.finished,
            count=trainer.count,
            seconds=trainer.seconds(),
            score=evaluations[-1] if mean is not None else None,
            best=score.mean,
            best_update=score.update,
            random_return=ending.random_return,
            expected_return=self.config.expected_return,
            data_return=self.task.facts().data_return,
            figure=ending.figure,
            best_model=best if best.is_dir() else None,
            can_film=not drawing_faults(self.config),
            allowed=self.config.allow_import,
        )
        self.console.summary(outcome)
        if parts:
            self.console.profile(profile.lines(parts))

    def draw_so_far(self, trainer: Trainer, log: RunLog) -> None:
        """Draws the learning curve and writes report.html of a run that trains. Leaves run.json and the run as they
        are."""
        log.flush()
        if self.config.general.save_fig:
            self._curve(self.task.facts().random_return, show=False)
        blank = dict.fromkeys(("outcome", "finished"))  # those of an earlier session
        parts = [part._asdict() for part in trainer.profile.parts()] if trainer.profile else None
        load = trainer.backend.processes.load(whole=True) if trainer.backend.processes else ()
        limits = "; limit: ".join(filter(None, load)) or None
        now = {**blank, **so_far(trainer), "profile": parts, "processes_said": limits}
        with stage(tr("writing the report")):
            html_report.write(self.task.path, {**now, **_policies(self.config, trainer.agent.spec)})

    def draw_curve(self, random_return: float | None) -> Path | None:
        """Draws results/learning_curve.png, and returns its path."""
        draw = partial(self._curve, random_return, self.config.general.show_fig)
        return self.guarded(tr("the learning curve could not be drawn"), draw)

    def _curve(self, random_return: float | None, show: bool) -> Path:
        path, run = self.task.results / "learning_curve.png", RecordedRun(self.task.path)
        with stage(tr("drawing the learning curve")):
            figures.curve_of(run, path, title=self.config.title, random_return=random_return, show=show)
        return path

    def film(
        self,
        evaluation: Evaluation,
        tape: Tape,
        check: Callable[[], None],
        watch: Watch,
        selection: FilmSelection = ALL_PLAYED,
    ) -> Path | None:
        """Replays the episodes in an environment that draws, into a file under videos/ or a window. `check` is called
        before each step and may raise. Returns the path of the video."""
        taped = selection.of(evaluation, tape)
        path, open_env = self.task.videos / file_name(self.config), build.open_drawing(self.config, watch)
        film, different = film_into(path, open_env, taped, check, watch, selection.columns)
        if different:
            self.console.warn(different)
        if self.config.env.render_mode == self.config.env.FILM[0]:
            self.console.note(film.text)
        if selection.worst:
            returns = tr(", ").join(
                tr(
                    "{number:,} (return {value})",
                    number=episode.number,
                    value=short(evaluation.return_of(episode.episode)),
                )
                for episode in taped
            )
            self.console.note(
                tr(
                    "the worst of {episodes}: {returns}",
                    episodes=counted(len(evaluation.episodes), "episode"),
                    returns=returns,
                )
            )
        return film.path

    def write_report(self) -> None:
        """Writes report.html. That of a run that was tested is written again, since it lists its tests."""
        with stage(tr("writing the report")):
            self.guarded(tr("report.html could not be written"), lambda: html_report.write(self.task.path))
            trained = RecordedRun(self.task.path).tested_run
            if trained is None or not (trained / REPORT).is_file() or is_locked(trained):
                return
            if self.task.path.resolve() in [test.folder.resolve() for test in tests_of(RecordedRun(trained))]:
                failure = tr("{path} could not be written again", path=trained / REPORT)
                self.guarded(failure, lambda: html_report.write(trained))


def so_far(trainer: Trainer) -> dict[str, Any]:
    """Returns the entries of run.json about the amount of training, its time, and its memory."""
    memory = machine.peak_memory()._asdict()
    compiling = trainer.compiling()
    return {
        **trainer.count._asdict(),
        "seconds": round(trainer.seconds(), 3),
        **({"compile_seconds": round(compiling, 3), "compiled_steps": trainer.packages()} if compiling else {}),
        "peak_memory": memory,
    }


def _policies(config: RunConfig, spec: EnvSpec) -> dict[str, Any]:
    """Returns the facts about each policy of a multi-agent environment."""
    facts = {
        policy.name: {"algorithm": policy.package.NAME, "learns": policy.train, "agents": list(policy.slots.agents)}
        for policy in plan(config, spec).policies
        if policy.slots
    }
    return {"policies": facts, "score_policy": config.general.score_policy} if facts else {}
