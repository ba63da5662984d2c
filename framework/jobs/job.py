"""A job: stages of one folder, which a runner takes to their ends, and one view of how far they are."""

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.config import GeneralConfig
from config.read.task_files import GroupFiles
from config.tell.language import tr
from framework.archive.run import RecordedRun
from framework.disk.atomic import ensure_folder
from framework.disk.task_dir import TaskDir
from framework.jobs.children import POLL_SECONDS
from framework.jobs.processes import Runner, StageEnd
from framework.jobs.stages import Stage
from framework.record.console import pausing_for
from framework.runs.signals import SaveSignals, StopSignals
from framework.screen import stages
from framework.screen.formatting import clock, counted, number, short, spread
from framework.screen.terminal import Screen

LOOK_SECONDS = 0.5
"""Seconds between two reads of the files of the runs."""
PAGE_SECONDS = 30.0
"""Seconds between two writes of the report, at least."""
PAGE_SHARE = 50
"""The pause is at least this many times as long as writing takes."""
MOST_ROWS = 20
"""Runs of which the view shows all; of more, it shows those that run."""


class Waiting(Exception):
    """The session ends before the job does: it was asked to stop, or a run was."""


@dataclass
class Turn:
    """State of the processes of a stage: not started (no beginning), running (no end) or ended."""

    began: float | None = None
    end: StageEnd | None = None
    seconds: float = 0.0
    """Duration of the processes that have ended."""

    @property
    def status(self) -> int | None:
        """Exit status of the process that has ended."""
        return None if self.end is None else self.end.status


class Job(ABC):
    """One session of a job."""

    def __init__(self, folder: Path, runner: Runner, screen: Screen, in_cluster: bool = False) -> None:
        """in_cluster: True if machines of a cluster train, from where progress comes with the result."""
        self.folder, self.files, self.runner, self.screen = folder, GroupFiles(folder), runner, screen
        self._starting = tr("in the cluster") if in_cluster else tr("starting")
        self.turns: defaultdict[Stage, Turn] = defaultdict(Turn)
        self.began = time.monotonic()
        self.before: dict[Stage, float] = {}
        """Shares of the stages that earlier sessions and comparisons have done, as those of a group that goes on."""
        self._page_failed = False
        self.patience = PAGE_SECONDS
        """Seconds after which the report is written again."""
        self._next_look = self._next_page = self._written = self._page_seconds = 0.0

    @abstractmethod
    def over(self, stage: Stage) -> bool:
        """Returns True if there is nothing to run for a stage."""

    @abstractmethod
    def ended(self, end: StageEnd) -> None:
        """Takes note of a process that has ended, and whose stage does not run again."""

    @abstractmethod
    def refresh(self) -> object:
        """Writes what shows the job while it goes on."""

    @abstractmethod
    def general(self, stage: Stage) -> GeneralConfig:
        """Returns the limits of a run."""

    @abstractmethod
    def run(self, stop: StopSignals) -> None:
        """Takes all stages to their ends. Raises Waiting if it is asked to stop before."""

    @abstractmethod
    def finish(self, stop: StopSignals) -> int:
        """Writes and prints the results. Returns the exit status."""

    def drive(self) -> int:
        """Takes the job to its end, unless signals end it before. Returns the exit status. Signals are passed on to the
        runs; those that are left after an error are ended."""
        with stages.shown_on(self.screen), StopSignals(again=self.runner.end_at_once) as stop:
            try:
                with SaveSignals(self.runner.save):
                    self.run(stop)
            except Waiting:
                pass
            finally:
                self.runner.end_all()
                self.screen.close()
            stop.doing = tr("finishing the report and stopping")
            return self.finish(stop)

    def write_page(self, write: Callable[[], Path]) -> Path | None:
        """Writes the report, and returns its path; one that cannot be written costs one warning."""
        try:
            with stages.stage(tr("writing the report")):
                return write()
        except Exception as error:  # a page is no reason to end a job of hours
            if not self._page_failed:
                self.screen.say(tr("warning: cannot write the report: {error}", error=error), "red")
            self._page_failed = True
            return None

    def complete(self, every: Sequence[Stage], goal: str, stop: StopSignals) -> None:
        """Runs all stages that are not over, as many at once as the runner takes. goal: where they end, in words.
        Raises Waiting if some are left then."""
        waiting = [stage for stage in every if not self.over(stage)]
        self.before = {stage: progress(TaskDir(stage.task), self.general(stage), stage.until)[0] for stage in waiting}
        begun = time.monotonic(), 1 - sum(1 - share for share in self.before.values()) / max(1, len(every))
        while True:
            if stop.received is not None:
                self.runner.stop(stop.received)
                waiting.clear()
            while waiting and self.runner.free > 0:
                self._start(waiting.pop(0))
            if not self.runner.running:
                break
            time.sleep(POLL_SECONDS)
            for end in self.runner.poll():
                if self._must_run_again(end):
                    waiting.append(end.stage)
                waiting = [stage for stage in waiting if not self.over(stage)]
            self.look(every, goal, begun)
        if not all(map(self.over, every)):
            raise Waiting

    def _start(self, stage: Stage) -> None:
        ensure_folder(stage.task.parent)
        self.turns[stage].began = time.monotonic()
        self.runner.start(stage)

    def _must_run_again(self, end: StageEnd) -> bool:
        """Takes note of the end of a process. Returns True if no more than that is known, and its stage is not done: an
        earlier session has started it, or its machine was lost."""
        self._next_page = min(self._next_page, self._written + PAGE_SHARE * self._page_seconds)
        turn, now = self.turns[end.stage], time.monotonic()
        if end.status is None and not end.stopped:
            if not end.stage.done():
                turn.began = None
                if end.complaint:
                    name, why = end.stage.label, end.complaint.splitlines()[0]
                    self.screen.say(tr("{name}: {why}; it goes on from its newest checkpoint", name=name, why=why))
                return True
            end, turn.seconds = end._replace(status=0), end.stage.seconds
        else:
            turn.seconds += now - (turn.began or now)
        turn.end = end
        self.ended(end)
        return False

    def look(self, every: Sequence[Stage], goal: str, begun: tuple[float, float]) -> None:
        """Shows how far the stages are. begun: time, and share of them that was done, when the first one started."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + max(LOOK_SECONDS, self.screen.interval)
        running = set(self.runner.running)
        looks = {stage: self.progress(stage, stage in running) for stage in every}
        share = sum(share for share, _ in looks.values()) / len(looks)
        head = tr(
            "{ended} of {runs} {goal}, {duration} so far",
            ended=sum(map(self.over, every)),
            runs=counted(len(looks), "run"),
            goal=goal,
            duration=clock(now - self.began),
        )
        began, before = begun
        if before < share < 1:  # runs wait for a free place, so that all of them move at an even pace
            head = tr(
                "{head}, about {duration} left",
                head=head,
                duration=clock((now - began) * (1 - share) / (share - before)),
            )
        stages = every if len(every) <= MOST_ROWS else [stage for stage in every if stage in running]
        self.screen.draw(share, head, [(stage.label, looks[stage][1]) for stage in stages])
        if now >= self._next_page:
            self.refresh()
            self._written = time.monotonic()
            self._page_seconds = self._written - now
            self.patience = max(PAGE_SECONDS, PAGE_SHARE * self._page_seconds)
            self._next_page = self._written + self.patience

    def progress(self, stage: Stage, running: bool) -> tuple[float, str]:
        """Returns the share of a stage that is done, from 0 to 1, and its progress in words."""
        turn = self.turns[stage]
        if self.over(stage):
            return 1.0, _ended(turn)
        if not running:
            return self.before.get(stage, 0.0), tr("waiting")
        cfg = self.general(stage)
        share, text = progress(TaskDir(stage.task), cfg, stage.until)
        if text and cfg.max_time > 0 and turn.began is not None:
            share = max(share, min(1.0, (time.monotonic() - turn.began) / cfg.max_time))
        return share, f"{share:4.0%}   {text}" if text else self._starting


def _ended(turn: Turn) -> str:
    """Returns how a stage has ended, in words."""
    if turn.end is None:
        return tr("ended")
    if turn.status == 0:
        return tr("ended in {duration}", duration=clock(turn.seconds))
    if turn.end.stopped:
        return tr("stopped after {duration}", duration=clock(turn.seconds))
    return tr("failed after {duration}", duration=clock(turn.seconds))


def progress(task: TaskDir, cfg: GeneralConfig, until: int | None = None) -> tuple[float, str]:
    """Returns the share of the planned run that is done, and in words its newest counts, return and evaluation, and
    what keeps it from training; no words before its first episode or iteration. until: step at which it pauses."""
    run = RecordedRun(task.path)
    step, episodes, updates, iterations = (count or 0 for count in run.newest_counts().values())
    if not step and not updates:
        return 0.0, ""
    parts = [tr("step {step:,}", step=step) if step else tr("update {update:,}", update=updates)]
    score = number((run.newest_episode() or {}).get(run.return_column))
    if score is not None:
        parts.append(tr("return {value}", value=short(score)))
    if evaluation := run.newest_evaluation():
        parts.append(tr("evaluation {score}", score=spread(evaluation)))
    parts += filter(None, [pausing_for(task.log)])
    share = cfg.length.share(step, episodes, updates, iterations)
    return min(1.0, step / until) if until else share, "   ".join(parts)
