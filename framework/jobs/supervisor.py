"""--keep-alive: starts a training as a child process, and starts it again when something outside of it has ended it.

This process reads no settings and loads neither torch nor an environment, so that little can befall it. What the child
tells through a pipe (framework/runs/supervisor_pipe.py), its exit status and the checkpoints in its folder decide.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from config.program import ENVIRONMENT, MAIN, PROGRAM
from config.read.opening import fault_below, regular
from config.read.task_files import COPIED_TO, COPY, LOCK, GroupFiles, TaskFiles
from config.system.processes import KILLED, out_of_reach
from config.system.terminal import at_terminal
from config.tell.language import tr
from framework.archive.groups import named_runs
from framework.archive.members import group_facts
from framework.archive.run import RecordedRun
from framework.disk.atomic import remove_folder
from framework.disk.task_dir import checkpoint_numbers, is_locked
from framework.runs import supervisor_pipe
from framework.runs.signals import NAMES, SAVING, ignored_by_children
from framework.screen import stages, terminal
from framework.screen.formatting import counted

MOST_DEATHS = 8
"""Deaths without a new checkpoint in between after which the supervisor gives up."""
FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 3, 300.0
"""Seconds before the first new start; factor from one pause to the next, without a new checkpoint in between; the
longest pause, in seconds."""
LOOK_SECONDS = 0.1
"""Seconds between two looks at the child."""
STOPPED = {128 + number for number in NAMES}
"""Exit statuses of a run that has saved and stopped after a signal."""


class Deaths:
    """Counts the deaths of a run without a new checkpoint in between."""

    def __init__(self, reached: int) -> None:
        """reached: what `reached` returns for its folder."""
        self.count, self._reached = 0, reached

    def another(self, reached: int) -> float | None:
        """Notes a death. Returns the pause before the next start in seconds; None if there is to be none."""
        self.count = self.count + 1 if reached <= self._reached else 1
        self._reached = max(reached, self._reached)
        return None if self.count >= MOST_DEATHS else min(LONGEST_PAUSE, FIRST_PAUSE * GROWTH ** (self.count - 1))


class End(NamedTuple):
    """The end of a child."""

    status: int
    """Exit status, as in a shell."""
    killed: int | None = None
    """Signal that has ended it, without its doing."""
    machine: str = ""
    """Error of the machine that has ended it, as it has told."""

    @property
    def again(self) -> bool:
        """True if a new start may help."""
        return bool(self.machine) or (self.killed is not None and self.killed not in NAMES)

    def __str__(self) -> str:
        if self.killed == KILLED:
            return tr("the run was killed (SIGKILL), perhaps because memory ran out")
        if self.killed is not None:
            return tr("the run was ended by {signal}", signal=_name(self.killed))
        return self.machine or tr("the run ended with status {status}", status=self.status)


class Supervisor:
    """Keeps one command alive."""

    def __init__(self, words: Sequence[str], again: Callable[[Path], Sequence[str]] | None) -> None:
        """words: of the command line that starts the run. again: returns the words that continue the run in a folder;
        None if those that start it do."""
        self.words, self.again = list(words), again
        self.folder: Path | None = None
        """Folder of the run, or of the group, once the child has told it."""
        self._stopped: int | None = None
        """The signal that has asked to stop."""
        self._child: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Runs the command to its end. Returns the exit status."""
        numbers = [*NAMES, *SAVING]
        before = {number: signal.getsignal(number) for number in numbers}
        for number in numbers:
            if before[number] != signal.SIG_IGN:  # nohup
                signal.signal(number, self._receive)
        try:
            with stages.shown_on(terminal.Screen()):  # what is done meanwhile, the child says
                return self._run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run(self) -> int:
        words, deaths = self.words, Deaths(-1)
        while True:
            end = self._once(words)
            if self._stopped is not None or end.status == 0 or not end.again:
                return end.status
            if end.machine and self.folder is None and not deaths.count:  # its message says what to do
                return end.status
            pause = deaths.another(reached(self.folder))
            if pause is None:
                self._say(self._given_up(end, deaths.count))
                return end.status
            if self.folder is not None and finished(self.folder):
                self._say(tr("{end}, after the training was complete and saved", end=end))
                return 0
            words = self._next_words()
            self._say(
                tr(
                    "{end}; {next} in {pause:g} s (death {count} of at most {most} without a new checkpoint)",
                    end=end,
                    next=self._next_start(words),
                    pause=pause,
                    count=deaths.count,
                    most=MOST_DEATHS,
                )
            )
            self._sleep(pause)
            if self._stopped is not None:
                return 128 + self._stopped

    # the child --------------------------------------------------------------------------------------------

    def _once(self, words: Sequence[str]) -> End:
        """Runs the command once."""
        pipe = supervisor_pipe.Listener()
        try:
            with ignored_by_children(SAVING):  # until it can save
                self._child = child = subprocess.Popen(
                    [sys.executable, str(MAIN), *words],
                    env={**os.environ, ENVIRONMENT: PROGRAM, supervisor_pipe.VARIABLE: str(pipe.theirs)},
                    pass_fds=[pipe.theirs],
                    **({} if at_terminal() else out_of_reach()),
                )
        finally:
            pipe.begun()
        if self._stopped is not None:  # it came before there was a child
            child.send_signal(self._stopped)
        while child.poll() is None:
            time.sleep(LOOK_SECONDS)
        self._child, facts = None, pipe.facts()
        if isinstance(folder := facts.get(supervisor_pipe.FOLDER), str):
            self.folder = Path(folder)
        code = child.returncode
        if code < 0:
            return End(128 - code, killed=-code)
        return End(code, machine="" if code in STOPPED else str(facts.get(supervisor_pipe.MACHINE, "")))

    def _receive(self, number: int, frame: FrameType | None) -> None:
        """Passes a signal on, unless the terminal has sent it to the child too."""
        if number in NAMES:
            self._stopped = self._stopped or number
        if self._child is not None and not (number == signal.SIGINT and at_terminal()):
            with contextlib.suppress(ProcessLookupError):
                self._child.send_signal(number)

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._stopped is None and time.monotonic() < until:
            time.sleep(min(LOOK_SECONDS, max(0.0, until - time.monotonic())))

    # what comes next --------------------------------------------------------------------------------------

    def _next_words(self) -> list[str]:
        """Returns the words of the next start. Deletes what a child has left that was killed before there was anything
        to continue."""
        if self.folder is None or self.again is None:
            return self.words
        if can_go_on(self.folder):
            return [*self.again(self.folder)]
        if self.folder.exists() and not fault_below(self.folder):
            remove_folder(self.folder)
        return self.words

    def _next_start(self, words: Sequence[str]) -> str:
        numbers = checkpoint_numbers(TaskFiles(self.folder).models) if self.folder else []
        if numbers:
            return tr("it goes on from checkpoint {number}", number=numbers[-1])
        return tr("it begins again") if words == self.words and self.again else tr("it goes on")

    def _given_up(self, end: End, count: int) -> str:
        return tr(
            "{end}; given up after {deaths} without a new checkpoint. If it needs longer to its first "
            "checkpoint than it lives, a smaller general_cfg.model_save_fre helps; if memory runs out, a smaller "
            "n_envs, buffer_size or batch_size",
            end=end,
            deaths=counted(count, "death"),
        )

    def _say(self, text: str) -> None:
        """Prints a line, and adds it to the log of the run, which has no writer now."""
        line = tr("--keep-alive: {text}", text=text)
        if sys.stderr and sys.stderr.isatty():
            print(file=sys.stderr)  # the child may have left half of a picture
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr, flush=True)
        log = TaskFiles(self.folder).log if self.folder else None
        if log and log.is_file() and not log.is_symlink():
            with (
                contextlib.suppress(OSError),
                open(log, "a", encoding="utf-8", errors="backslashreplace", opener=regular) as file,
            ):
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')},000 WARNING {line}\n")


# ------------------------------------------------------------------------------------------------ of a folder


def reached(folder: Path | None) -> int:
    """Returns how far the runs in a folder have come, in a number that grows with each new checkpoint."""
    if folder is None:
        return -1
    return sum(max(checkpoint_numbers(TaskFiles(run).models), default=-1) for _, run in named_runs(folder))


def finished(folder: Path) -> bool:
    """Returns True if the run in a folder, or each run of a group and its tables, have come to their end."""
    facts, runs = group_facts(folder), [run for _, run in named_runs(folder)]
    if facts.names is not None and (facts.seconds is None or len(facts.names) > len(runs)):
        return False
    return all(RecordedRun(run).facts.finished for run in runs)


def can_go_on(folder: Path) -> bool:
    """Returns True if a run has a checkpoint, or if a group has begun."""
    return bool(GroupFiles(folder).group.is_file() or checkpoint_numbers(TaskFiles(folder).models))


def was_killed_early(folder: Path) -> bool:
    """Returns True for the folder of a run that was killed before its first checkpoint, and of which no process
    writes: it has what a run writes at its start, and nothing else."""
    if can_go_on(folder) or is_locked(folder, unknown=True):
        return False
    files = TaskFiles(folder)
    folders = (files.models, files.results, files.logs, files.tb_logs, files.videos)
    written = (files.config, files.params, files.run, *folders)
    names = {LOCK, COPY, COPIED_TO, *(path.name for path in written)}
    if files.models.is_dir() and any(path.name[0] != "." and path.name != "journal" for path in files.models.iterdir()):
        return False  # such as a best model alone
    return folder.is_dir() and all(path.name in names for path in folder.iterdir())


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
