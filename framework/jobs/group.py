"""A group of training runs, each in a process and a task directory of its own, then one table."""

import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from config.config import GeneralConfig
from config.program import MAIN
from config.read.loader import RunConfig
from config.read.paths import as_written
from framework.archive.groups import result
from framework.assemble import build
from framework.disk.atomic import write_whole
from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import last_row
from framework.disk.task_dir import REPORT, TaskDir, add_facts, circumstances, read_facts
from framework.jobs import runs_table
from framework.jobs.children import POLL_SECONDS, Child, Children, at_once, of_command
from framework.pages import group_page
from framework.record.console import pausing_for
from framework.runs.signals import StopSignals
from framework.screen import terminal
from framework.screen.formatting import (
    begin_command,
    clock,
    compare_command,
    counted,
    play_command,
    resume_command,
    short,
    spread,
    video_command,
)

LOOK_SECONDS = 0.5
"""Seconds between two reads of the files of the runs."""
PAGE_SECONDS, PAGE_SHARE = 30.0, 0.02
"""Seconds between two drawings of the page, at least, and the largest share of the time that they take."""
FAILED = 1
"""Exit status if a run failed; 2 means that nothing was started."""


class Member(NamedTuple):
    """A run of a group: its name, its settings, and what its command adds to them."""

    name: int | str
    """Seed, or name of the experiment."""
    label: str
    """Name in lines of output: seed 3."""
    folder: str
    """Name of its task directory in the folder of the group."""
    config: RunConfig
    file: str = "config.yaml"
    """File with its settings in the folder of the group."""
    words: tuple[str, ...] = ()
    """Settings that its command adds to those in the file."""
    experiment: str = ""
    """Name of the experiment that it is a run of; empty if the runs differ in their seed alone."""


def run(
    what: str,
    members: Sequence[Member],
    folder: Path,
    command_line: list[str],
    jobs: int | None,
    fitting: float,
    show: bool = False,
) -> int:
    """Trains a group in a new folder. Returns the exit status.

    what: seed, or run if there are several experiments. jobs: number of runs at once; None: by the cores. fitting:
    number of runs whose memories fit into this machine. show: True to show the figure in a window.
    """
    work = _Group(what, members, folder, at_once([member.config for member in members], jobs, fitting))
    work.begin(command_line)
    with StopSignals(again=work.children.end_at_once) as stop:
        try:
            work.train(stop)
        finally:
            work.end_all()
    return work.finish(stop, show)


class Run(NamedTuple):
    """A member's run: waiting, running or ended."""

    member: Member
    task: TaskDir
    child: Child


class _Group:
    """Starts the runs and shows their progress and results."""

    def __init__(self, what: str, members: Sequence[Member], folder: Path, at_once: int) -> None:
        self.what, self.folder, self.at_once = what, folder, at_once
        self.children = Children(at_once)
        self.config = members[0].config
        self.runs = [
            Run(member, TaskDir(folder / member.folder), Child(folder / f"{member.folder}.errors.txt"))
            for member in members
        ]
        self.screen = terminal.choose(sys.stdout)
        self.began = time.monotonic()
        self._next_look = 0.0
        self._next_page = 0.0
        self._page_failed = self._over = False

    def begin(self, command_line: list[str]) -> None:
        """Settings and circumstances are on disk before the first run starts."""
        for file, config in {run.member.file: run.member.config for run in self.runs}.items():
            write_whole(self.folder / file, config.to_yaml().encode())
        add_facts(
            self.folder / "group.json",
            {
                **circumstances(command_line),
                "preset": self.config.preset,
                "allow_import": list(self.config.allow_import),
                f"{self.what}s": [run.member.name for run in self.runs],
                "at_once": self.at_once,
            },
        )
        runs_table.write_table(self.folder, self.what, self.results())
        self._draw_page()
        for note in dict.fromkeys(note for run in self.runs for note in run.member.config.notes):
            self.screen.say(note)
        self.screen.say(f"{counted(len(self.runs), 'run')}, {self.at_once} at once: {as_written(self.folder)}")
        device = self.config.general.device
        if device != "cpu" and self.at_once > 1 and build.device_of(self.config).type != "cpu":
            self.screen.say(f"they share one GPU ({device}); --jobs 1 runs them one after the other")

    # while they run ---------------------------------------------------------------------------------------

    def train(self, stop: StopSignals) -> None:
        """Runs until all members finish. After a signal, starts no more and forwards it to running ones."""
        waiting = self.runs.copy()
        while True:
            if stop.received is not None:
                self.children.stop(stop.received)
                waiting.clear()
            for _ in range(min(self.children.free, len(waiting))):
                run = waiting.pop(0)
                self.children.start(run.child, of_command(self._command(run), self.config.start))
            if not self.children.running:
                return
            time.sleep(POLL_SECONDS)
            for child in self.children.poll():
                self._say_end(next(run for run in self.runs if run.child is child))
            self._look()

    def _command(self, run: Run) -> list[str]:
        words = [sys.executable, str(MAIN), "--yaml", str(as_written(self.folder / run.member.file))]
        for package in self.config.allow_import:
            words += ["--allow-import", package]
        return [*words, "--into", str(as_written(run.task.path)), *run.member.words]

    def end_all(self) -> None:
        """Terminates the processes that are left after an error."""
        self.children.end_all()
        self.screen.close()

    def _say_end(self, run: Run) -> None:
        name = run.member.label
        if run.child.status == 0:
            self.screen.say(f"{name}: {runs_table.sentence(self._result(run))}", "green")
        elif run.child.stopped:
            self.screen.say(f"{name}: stopped")
        else:
            self.screen.say(f"warning: {name} failed with status {run.child.status}: {run.child.complaint()}", "red")
        with contextlib.suppress(OSError):  # the next end writes it again; a full disk must not stop the other runs
            runs_table.write_table(self.folder, self.what, self.results())
        self._draw_page()

    def _look(self) -> None:
        now = time.monotonic()
        if now >= self._next_page:
            self._draw_page()
        if now < self._next_look:
            return
        self._next_look = now + max(LOOK_SECONDS, self.screen.interval)
        looks = [look(run, run.member.config.general) for run in self.runs]
        done = sum(run.child.status is not None for run in self.runs)
        share = sum(share for share, _ in looks) / len(looks)
        head = f"{done} of {len(looks)} runs ended, {clock(now - self.began)} so far"
        if 0 < share < 1:  # runs wait for a free place, so that the group as a whole moves at an even pace
            head += f", about {clock((now - self.began) * (1 - share) / share)} left"
        rows = [(run.member.label, text) for run, (_, text) in zip(self.runs, looks, strict=True)]
        self.screen.draw(share, head, rows)

    # the page ---------------------------------------------------------------------------------------------

    def _draw_page(self) -> None:
        """Writes report.html; one that cannot be written costs one warning."""
        begin = time.monotonic()
        try:
            group_page.write(self.folder, self._page())
        except Exception as error:  # no page is a reason to fail
            if not self._page_failed:
                self.screen.say(f"warning: {as_written(self.folder / REPORT)} could not be written: {error}", "red")
            self._page_failed = True
        now = time.monotonic()
        self._next_page = now + max(PAGE_SECONDS, (now - begin) / PAGE_SHARE)

    def _page(self) -> group_page.Group:
        configs, results = [run.member.config for run in self.runs], self.results()
        experiments, what = self._experiments(), ""
        if self._same_environment():
            names = dict.fromkeys(config.algorithms for config in configs)
            what = f"{' and '.join(names)} on {_environment(self.config)}"
        counts = counted(len(self.runs), "run" if experiments else "seed")
        return group_page.Group(
            title=f"{what}, {counts}" if what else counts,
            runs=[
                group_page.Member(run.member.label, _state(run, self._over), one, _reason(run.child))
                for run, one in zip(self.runs, results, strict=True)
            ],
            experiments=experiments,
            curves=runs_table.group_curves(self.folder, configs, results) if what else None,
            levels=self._levels(results) if what else {},
            settings={run.member.file: run.member.config.as_dict() for run in self.runs},
            commands=self._commands(),
            facts=read_facts(self.folder / "group.json"),
            seconds=time.monotonic() - self.began,
            drawn="" if self._over else time.strftime("%Y-%m-%d %H:%M:%S %z"),
        )

    def _levels(self, results: Sequence[runs_table.Result]) -> dict[str, float | None]:
        """Returns the returns that the runs are compared with, by their names."""
        expected = {run.member.config.expected_return for run in self.runs}
        means = {name: runs_table.mean_fact(self.folder, results, f"{name}_return") for name in ("data", "random")}
        return {
            "expected": expected.pop() if len(expected) == 1 else None,
            "data": means["data"],
            "random policy": means["random"],
        }

    def _commands(self) -> list[terminal.Row]:
        """Returns what can be done next, and the commands."""
        allowed, rows = self.config.allow_import, []
        scored = [(run, one.best) for run in self.runs if (one := self._result(run)).best is not None]
        if scored:
            best, _ = max(scored, key=lambda pair: pair[1] or 0.0)
            rows.append((f"Test the best model ({best.member.label})", play_command(best.task.path, allowed)))
            if best.task.read_run().get("can_film", True):
                rows.append(("Film it", video_command(best.task.path, allowed)))
        rows += [
            (f"{name[0].upper()}{name[1:]}", command)
            for run in self.runs
            if run.child.status != 0 and (self._over or run.child.status is not None)
            for name, command in [self._next_command(run)]
        ]
        if done := next((run for run in self.runs if run.child.status == 0), None):
            what = f"Resume {done.member.label}, with a higher limit behind it"
            rows.append((what, resume_command(done.task.path, allowed)))
        if any(run.member.experiment for run in self.runs):
            return [*rows, ("Compare them", compare_command(self.folder))]
        return [*rows, ("Compare with another run or group", f"{compare_command(self.folder)} OTHER")]

    def _same_environment(self) -> bool:
        return len({_environment(run.member.config) for run in self.runs}) == 1

    # the end ----------------------------------------------------------------------------------------------

    def results(self) -> list[runs_table.Result]:
        """Returns one result per run, in the order of the members."""
        return [self._result(run) for run in self.runs]

    def _experiments(self) -> dict[str, list[runs_table.Result]]:
        """Returns the results of each experiment; none if the runs differ in their seed alone."""
        found: dict[str, list[runs_table.Result]] = {}
        for run in self.runs:
            if run.member.experiment:
                found.setdefault(run.member.experiment, []).append(self._result(run))
        return found

    @staticmethod
    def _result(run: Run) -> runs_table.Result:
        return result(run.task, run.member.name, run.child.status, run.child.seconds)

    def finish(self, stop: StopSignals, show: bool) -> int:
        """Prints the table, draws the figure and names the files and next commands. Returns the exit status."""
        results, groups = self.results(), self._experiments()
        for line in runs_table.table(results, self.what, groups if len(groups) < len(results) else None):
            self.screen.say(line)
        facts: dict[str, Any] = {"seconds": round(time.monotonic() - self.began, 3)}
        if groups:  # runs of different settings have no common mean
            facts["experiments"] = {name: runs_table.summary(group) for name, group in groups.items()}
        else:
            facts |= runs_table.summary(results)
        figure, configs = None, [run.member.config for run in self.runs]
        if self._same_environment():
            figure = runs_table.draw(self.folder, configs, results, groups, show, self.screen.say)
        add_facts(self.folder / "group.json", facts)
        self._over = True
        self._draw_page()
        rows = [] if self._page_failed else [("report", str(as_written(self.folder / REPORT)))]
        rows += [("curves", str(as_written(figure)))] if figure else []
        rows.append(("table", str(as_written(runs_table.write_table(self.folder, self.what, results)))))
        if figure:
            rows.append(("compare", compare_command(self.folder) + ("" if groups else " OTHER")))
        for run in self.runs:
            if run.child.status != 0:
                rows.append(self._next_command(run))
        width = max(len(label) for label, _ in rows)
        for label, text in rows:
            self.screen.say(f"{label:<{width}}  {text}")
        failed = any(run.child.status and not run.child.stopped for run in self.runs)
        return stop.exit_status if stop.received is not None else FAILED if failed else 0

    def _next_command(self, run: Run) -> terminal.Row:
        allowed = self.config.allow_import
        if CheckpointStore(run.task.models).numbers():
            return f"resume {run.member.label}", resume_command(run.task.path, allowed)
        command = begin_command(self.folder / run.member.file, run.member.words, run.task.path, allowed)
        return f"start {run.member.label}", command


def _environment(config: RunConfig) -> str:
    return str(getattr(config.env, "id", config.general.env_name))


def _state(run: Run, over: bool) -> str:
    """Returns the state of a run in a word. over: True if no more of them is started."""
    child = run.child
    if child.status is None:
        return "running" if child.process is not None else "not started" if over else "waiting"
    return "finished" if child.status == 0 else "stopped" if child.stopped else f"failed (status {child.status})"


def _reason(child: Child) -> str:
    """Returns the first line of what a run that failed complained of; empty if it did not fail."""
    return child.complaint().splitlines()[0] if child.status and not child.stopped else ""


def look(run: Run, cfg: GeneralConfig) -> tuple[float, str]:
    """Returns the share of a run that is done, from 0 to 1, and its progress in words."""
    child = run.child
    if child.status is not None:
        return 1.0, _ended(child)
    if child.process is None:
        return 0.0, "waiting"
    share, text = progress(run.task, cfg)
    if text and cfg.max_time > 0:
        share = max(share, min(1.0, (time.monotonic() - child.began) / cfg.max_time))
    return share, f"{share:4.0%}   {text}" if text else "starting"


def _ended(child: Child) -> str:
    """Returns how a run has ended, in words."""
    if child.stopped:
        return f"stopped after {clock(child.seconds)}"
    return f"ended in {clock(child.seconds)}" if child.status == 0 else f"ended with status {child.status}"


def progress(task: TaskDir, cfg: GeneralConfig) -> tuple[float, str]:
    """Returns the share of the planned run that is done, and in words its newest episode and evaluation, and what
    keeps it from training; no words before its first episode."""
    episode: Any = last_row(task.results / "train.csv")
    if episode is None:
        return 0.0, ""
    parts = [f"step {episode['step']:,}", f"return {short(episode['return'])}"]
    evaluation: Any = last_row(task.results / "eval.csv")
    if evaluation:
        parts.append(f"evaluation {spread(evaluation)}")
    parts += filter(None, [pausing_for(task.logs / "log.txt")])
    return cfg.share(episode["step"], episode["episode"], episode["update"]), "   ".join(parts)
