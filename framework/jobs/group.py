"""A group of training runs, each in a process and a task directory of its own, then one table."""

import contextlib
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from config.config import RUN_LIMITS, GeneralConfig
from config.read.loader import RunConfig
from config.read.paths import as_written
from config.tell.cells import cells, padded
from config.tell.language import english, tr
from framework.archive.curves import Curves
from framework.archive.groups import RunResult, begun, group_curves, mean_fact, result, summary
from framework.archive.members import Member, group_facts
from framework.archive.run import RecordedRun
from framework.assemble import build
from framework.disk.atomic import recover, write_whole
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import TaskDir, add_facts, circumstances, is_locked
from framework.jobs import results
from framework.jobs.job import Job, Turn
from framework.jobs.processes import Runner, StageEnd
from framework.jobs.stages import Stage
from framework.pages import figures, group_page
from framework.runs.signals import StopSignals
from framework.screen import terminal
from framework.screen.formatting import (
    NOT_LEARNING,
    begin_command,
    compare_command,
    counted,
    number,
    play_command,
    resume_command,
    video_command,
)

FAILED = 1
"""Exit status if a run failed; 2 means that nothing was started."""
MOST_WARNINGS = 6
"""Number of warnings of the runs that the end of a group repeats."""


class Group(Job):
    """Runs that are trained to their ends, without a comparison on the way: a tuning without a search."""

    def __init__(
        self,
        members: Mapping[Member, RunConfig],
        folder: Path,
        runner: Runner,
        screen: terminal.Screen,
        where: Sequence[str] = (),
        address: str | None = None,
        show: bool = False,
    ) -> None:
        """where: settings that say where each run is trained; address: of the cluster whose machines train whole
        runs; show: True to open the figure in a window at the end."""
        super().__init__(folder, runner, screen, in_cluster=address is not None)
        self.where, self.address, self.show = tuple(where), address, show
        self.members = members
        self.config = next(iter(members.values()))
        self.runs = {self._stage(member, config): member for member, config in members.items()}
        self.at_once = min(runner.free, len(self.runs))
        self.unit = "run" if any(member.experiment for member in members) else "seed"
        self._over = False

    def _stage(self, member: Member, config: RunConfig) -> Stage:
        return Stage(
            member.folder,
            member.label,
            self.folder / member.file,
            self.folder / member.folder,
            words=(*member.words, *self.where),
            limits=tuple((name, getattr(config.general, name)) for name in RUN_LIMITS),
            allow_import=config.allow_import,
        )

    def write_settings(self) -> None:
        """Writes the settings of a new group, without the address of a cluster: which one is asked is said with each
        command."""
        for file, config in {member.file: config for member, config in self.members.items()}.items():
            write_whole(self.folder / file, config.with_general(ray_address=None).to_yaml().encode())

    def begin(self, command_line: list[str]) -> None:
        """Writes the circumstances, before the first run starts."""
        add_facts(
            self.files.group,
            {
                **circumstances(command_line),
                "preset": self.config.preset,
                "allow_import": list(self.config.allow_import),
                f"{self.unit}s": [member.name for member in self.members],
                "at_once": self.at_once,
            },
        )
        for note in dict.fromkeys(note for config in self.members.values() for note in config.notes):
            self.screen.say(note)

    def extend(self) -> None:
        """Writes the settings of a group that goes on to higher limits."""
        self.write_settings()
        add_facts(self.files.group, {"seconds": None})

    def take_up(self) -> None:
        """Looks for what earlier sessions have left."""
        recover(self.folder)
        for stage in self.runs:
            if stage.done():
                self.turns[stage] = Turn(end=StageEnd(stage, 0), seconds=stage.seconds)
                stage.errors.unlink(missing_ok=True)

    def run(self, stop: StopSignals) -> None:
        """Trains until all runs have ended."""
        self.write_table()
        self.refresh()
        self.screen.say(
            tr(
                "{runs}, {at_once} at once: {path}",
                runs=counted(len(self.runs), "run"),
                at_once=self.at_once,
                path=as_written(self.folder),
            )
        )
        device = self.config.general.device
        if device != "cpu" and self.at_once > 1 and not self.address and build.device_of(self.config).type != "cpu":
            self.screen.say(tr("they share one GPU ({device}); --jobs 1 runs them one after the other", device=device))
        self.complete(list(self.runs), tr("ended"), stop)

    def over(self, stage: Stage) -> bool:
        """Returns True if the run of a stage has ended in this session, or is finished."""
        return self.turns[stage].end is not None

    def general(self, stage: Stage) -> GeneralConfig:
        return self.members[self.runs[stage]].general

    def ended(self, end: StageEnd) -> None:
        """Tells the end of a run."""
        name = end.stage.label
        if end.status == 0:
            outcome = results.sentence(self._result(end.stage))
            self.screen.say(tr("{name}: {result}", name=name, result=outcome), "green")
        elif end.stopped:
            self.screen.say(tr("{name}: stopped", name=name))
        else:
            self.screen.say(
                tr(
                    "warning: {name} failed with status {status}: {complaint}",
                    name=name,
                    status=end.status,
                    complaint=end.complaint,
                ),
                "red",
            )
        with contextlib.suppress(OSError):  # the next end writes it again; a full disk must not stop the other runs
            self.write_table()

    def write_table(self) -> Path:
        """Writes seeds.csv or runs.csv."""
        return results.write_runs(self.folder, self.unit, self.results())

    # the page ---------------------------------------------------------------------------------------------

    def refresh(self) -> Path | None:
        """Writes report.html."""
        return self.write_page(lambda: group_page.write(self.folder, self._page()))

    def _page(self) -> group_page.Group:
        configs, rows = list(self.members.values()), self.results()
        experiments, subject = self._experiments(), ""
        if self._same_environment():
            names = dict.fromkeys(config.algorithms for config in configs)
            algorithms = tr(" and ").join(names)
            subject = tr("{algorithms} on {environment}", algorithms=algorithms, environment=self.config.env_id)
        counts = counted(len(self.runs), "run" if experiments else "seed")
        return group_page.Group(
            title=tr("{subject}, {counts}", subject=subject, counts=counts) if subject else counts,
            runs=[
                group_page.Member(stage.label, self._state(stage), row, self._reason(stage))
                for stage, row in zip(self.runs, rows, strict=True)
            ],
            experiments=experiments,
            curves=group_curves(self.folder, configs, rows) if subject else None,
            levels=self._levels(rows) if subject else {},
            settings={member.file: config.as_dict() for member, config in self.members.items()},
            commands=self._commands(),
            begun=begun(self.folder),
            seconds=time.monotonic() - self.began,
            drawn="" if self._over else time.strftime("%Y-%m-%d %H:%M:%S %z"),
        )

    def _state(self, stage: Stage) -> str:
        """Returns the state of a run in English, one of `outcome.STATES`."""
        end = self.turns[stage].end
        if end is None:
            not_yet = english("not started") if self._over else english("waiting")
            return english("running") if stage in self.runner.running or self._goes_on(stage) else not_yet
        if end.status == 0:
            return english("finished")
        return english("stopped") if end.stopped else f"failed (status {end.status})"

    def _goes_on(self, stage: Stage) -> bool:
        """Returns True if a run is trained by a process of another session, such as one that was killed alone."""
        here = self.turns[stage].end is not None or stage in self.runner.running
        return not here and is_locked(stage.task)

    def _reason(self, stage: Stage) -> str:
        """Returns the first line of what a run that failed complained of; empty if it did not fail."""
        end = self.turns[stage].end
        return end.complaint.splitlines()[0] if end and end.complaint else ""

    def _levels(self, rows: Sequence[RunResult]) -> dict[str, float | None]:
        """Returns the returns that the runs are compared with, by their names."""
        expected = {config.expected_return for config in self.members.values()}
        means = {name: mean_fact(self.folder, rows, f"{name}_return") for name in ("data", "random")}
        return {
            "expected": expected.pop() if len(expected) == 1 else None,
            "data": means["data"],
            "random policy": means["random"],
        }

    def _commands(self) -> list[terminal.Row]:
        """Returns what can be done next, and the commands."""
        allowed, rows = self.config.allow_import, []
        scored = {stage: ending.best for stage in self.runs if (ending := self._result(stage)).best is not None}
        if scored:
            best = max(scored, key=lambda stage: scored[stage] or 0.0)
            rows.append((tr("Test the best model ({label})", label=best.label), play_command(best.task, allowed)))
            if RecordedRun(best.task).facts.can_film is not False:
                rows.append((tr("Film it"), video_command(best.task, allowed)))
        if not self._over:
            rows.append((tr("Go on, if the group was interrupted"), self.resume_command()))
        elif self.interrupted:
            rows.append((tr("Go on with all runs that have not finished"), self.resume_command()))
        rows += [
            (f"{name[0].upper()}{name[1:]}", command)
            for stage in self.runs
            if self.turns[stage].status != 0 and (self._over or self.over(stage)) and not self._goes_on(stage)
            for name, command in [self._next_command(stage)]
        ]
        if self._over and all(self.turns[stage].status == 0 for stage in self.runs):
            label = tr("Train all of them further, with a higher limit behind it")
            rows.append((label, self.resume_command()))
        elif done := next((stage for stage in self.runs if self.turns[stage].status == 0), None):
            label = tr("Resume {label}, with a higher limit behind it", label=done.label)
            rows.append((label, resume_command(done.task, allowed)))
        if self.unit == "run":
            return [*rows, *([(tr("Compare them"), compare_command(self.folder))] if self._can_compare() else [])]
        return [*rows, (tr("Compare with another run or group"), f"{compare_command(self.folder)} OTHER")]

    def _same_environment(self) -> bool:
        return len({config.env_id for config in self.members.values()}) == 1

    def _can_compare(self) -> bool:
        """Returns True if two experiments have the same environment, or the group can be compared with another one."""
        envs = Counter({member.experiment: config.env_id for member, config in self.members.items()}.values())
        return self._same_environment() or max(envs.values()) > 1

    # the end ----------------------------------------------------------------------------------------------

    def results(self) -> list[RunResult]:
        """Returns one result per run, in the order of the members."""
        return list(map(self._result, self.runs))

    def _result(self, stage: Stage) -> RunResult:
        turn = self.turns[stage]
        return result(TaskDir(stage.task), self.runs[stage].name, turn.status, turn.seconds)

    def _experiments(self) -> dict[str, list[RunResult]]:
        """Returns the results of each experiment; none if the runs differ in their seed alone."""
        experiments: dict[str, list[RunResult]] = {}
        for stage, member in self.runs.items():
            if member.experiment:
                experiments.setdefault(member.experiment, []).append(self._result(stage))
        return experiments

    @property
    def interrupted(self) -> bool:
        """True if runs were stopped, or not started."""
        turns = [self.turns[stage] for stage in self.runs]
        return any(turn.end is None or (turn.end.stopped and turn.status != 0) for turn in turns)

    def finish(self, stop: StopSignals) -> int:
        """Prints the table, draws the figure and names the files and next commands. Returns the exit status."""
        runs, groups = self.results(), self._experiments()
        going = [stage for stage in self.runs if self._goes_on(stage)]
        states = {stage.task.name: tr(self._state(stage)) for stage in going}
        for line in results.table_of_runs(runs, self.unit, groups if len(groups) < len(runs) else None, states):
            self.screen.say(line)
        told = self._repeat_warnings()
        facts: dict[str, Any] = {"seconds": round(time.monotonic() - self.began, 3), "told": told}
        if groups:  # runs of different settings have no common mean
            facts["experiments"] = {name: summary(group) for name, group in groups.items()}
        else:
            facts |= summary(runs)
        curves = group_curves(self.folder, list(self.members.values()), runs) if self._same_environment() else None
        figure = None
        if curves and curves.lines and self.config.general.save_fig:
            figure = results.draw(self.folder, lambda path: self._draw(path, curves, runs, groups), self.screen.say)
        add_facts(self.files.group, facts)
        self._over = True
        rows = [(tr("report"), str(as_written(page)))] if (page := self.refresh()) else []
        rows += [(tr("curves"), str(as_written(figure)))] if figure else []
        rows.append((tr("table"), str(as_written(self.write_table()))))
        scored = any(row.mean is not None for row in runs) if curves is None else bool(curves.lines)
        if scored and self._can_compare():
            rows.append((tr("compare"), compare_command(self.folder) + ("" if groups else " OTHER")))
        for stage in going:
            self.screen.say(tr("{label} is still trained by another process, and goes on", label=stage.label))
        left = [stage for stage in self.runs if self.turns[stage].status != 0 and stage not in going]
        rows += list(map(self._next_command, left))
        rows += [(tr("to go on"), self.resume_command())] if self.interrupted else []
        width = max(cells(label) for label, _ in rows)
        for label, text in rows:
            self.screen.say(f"{padded(label, width)}  {text}")
        ends = [turn.end for turn in self.turns.values() if turn.end]
        failed = any(end.status and not end.stopped for end in ends)
        if stop.received is not None:
            return stop.exit_status
        if any(end.status and end.stopped for end in ends):  # a run was stopped, by a signal to itself
            return 128 + signal.SIGTERM
        return FAILED if failed else 0

    def _repeat_warnings(self) -> dict[str, int]:
        """Prints what the runs have warned of since a session told it last, each sentence once, and which of them are
        no better than chance. Returns how many bytes of each log are told."""
        labels: dict[str, list[str]] = {}
        before, told = group_facts(self.folder).told or {}, dict[str, int]()
        for stage in self.runs:
            run, name = RecordedRun(stage.task), stage.task.name
            warnings, told[name] = run.warnings_from(int(number(before.get(name)) or 0))
            if run.facts.worse_than_random and told[name] != before.get(name):
                warnings.append(tr("not above the random policy; what to do: {page}", page=NOT_LEARNING))
            for warning in warnings:
                labels.setdefault(warning, []).append(stage.label)
        for warning in [*labels][:MOST_WARNINGS]:
            runs, comma = labels[warning], tr(", ")
            named = (tr("; ") if comma in "".join(runs) else comma).join(runs)
            self.screen.say(
                tr("warning: {problem}", problem=tr("{name}: {problem}", name=named, problem=warning)), "yellow"
            )
        if (more := len(labels) - MOST_WARNINGS) > 0:
            self.screen.say(tr("{more} more warnings are in the logs of the runs", more=more), "yellow")
        if labels:
            self.screen.say("")
        return told

    def _draw(
        self, path: Path, curves: Curves, runs: Sequence[RunResult], groups: Mapping[str, Sequence[RunResult]]
    ) -> None:
        """Draws the curves; of experiments, their means."""
        lines, quantity, over = curves
        levels = self._levels(runs)
        if groups:
            series = {
                name: [lines[run.folder] for run in group if run.folder in lines] for name, group in groups.items()
            }
            figures.comparison(
                {name: group for name, group in series.items() if group}, path, title=self.config.env_id,
                quantity=quantity, over=over, levels=levels, show=self.show,
            )  # fmt: skip
        else:
            figures.seed_curves(
                list(lines.values()), path, seeds=[run.name for run in runs if run.folder in lines],
                title=self.config.title, quantity=quantity, over=over, levels=levels, show=self.show,
            )  # fmt: skip

    def _next_command(self, stage: Stage) -> terminal.Row:
        allowed = self.config.allow_import
        if CheckpointStore(stage.task / "models").numbers():
            return tr("resume {label}", label=stage.label), resume_command(stage.task, allowed)
        return tr("start {label}", label=stage.label), begin_command(stage.file, stage.words, stage.task, allowed)

    def resume_command(self) -> str:
        """Returns what continues the group."""
        ray = [f"general_cfg.mp_backend=ray general_cfg.ray_address={self.address}"]
        words = ray if self.address else self.where
        return " ".join([resume_command(self.folder, self.config.allow_import), *words])
