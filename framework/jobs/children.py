"""A run as a process of this one."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from config import machine
from config.program import ENVIRONMENT, PROGRAM
from config.read.loader import RunConfig
from config.read.opening import read_regular, regular
from config.system.name import is_windows
from config.system.processes import KILLED, interrupt, out_of_reach
from config.tell.language import VARIABLE, english, language, tr
from framework.disk.task_dir import take_lock
from framework.errors import ERROR
from framework.jobs import own_objects
from framework.runs import signals, supervisor_pipe

POLL_SECONDS = 0.1
"""Pause between two looks at the processes."""
MOST_BYTES = 2**30
"""Size of the largest stderr that is read."""
_CLOSING = english("Nothing was started. Fix the problem above.")
_NOTHING_STARTED = (_CLOSING.partition(".")[0], tr(_CLOSING).partition("。")[0])
"""Beginning of the last line of a process that refused its settings, in English and in the language of the user."""


class Process(Protocol):
    """The methods of subprocess.Popen that are used here."""

    def poll(self) -> int | None: ...

    def wait(self) -> int | None: ...

    def send_signal(self, sig: int) -> None: ...

    def terminate(self) -> None: ...


Begin = Callable[[BinaryIO, int], Process]
"""Starts a process whose stderr is this file, and which tells its facts through a pipe with this descriptor."""


def of_command(command: list[str], start: Path | None = None, own: bytes = b"") -> Begin:
    """Returns how to start a command of Python so that Ctrl-C reaches it only through this process, and once. start:
    its working directory; None: this process's. own: registered objects that it needs, packed."""
    if own:
        command = [command[0], "-c", own_objects.RECEIVE, *command[1:]]

    def begin(errors: BinaryIO, telling: int) -> Process:
        environment = {**os.environ, ENVIRONMENT: PROGRAM, VARIABLE: language(), "PYTHONIOENCODING": "utf-8"}
        inherited: dict[str, Any] = {}
        if not is_windows():  # a child there gets no pipe
            environment[supervisor_pipe.VARIABLE], inherited["pass_fds"] = str(telling), [telling]
        with signals.ignored_by_children(signals.SAVING):  # until it can save
            process = subprocess.Popen(
                command,
                cwd=start,
                env=environment,
                stdin=subprocess.PIPE if own else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                **inherited,
                **out_of_reach(),
            )
        if own and process.stdin is not None:
            with contextlib.suppress(OSError), process.stdin as pipe:  # of a process that has ended, the status tells
                pipe.write(own)
        return process

    return begin


def at_once(configs: Sequence[RunConfig], jobs: int | None, fitting: float) -> int:
    """Returns how many runs are trained at once. jobs: that number, None: by the cores; fitting: number of runs whose
    memories fit into this machine."""
    general = [config.general for config in configs]
    processes = max(cfg.n_workers + cfg.n_learners if cfg.mp_backend == "ray" else 1 for cfg in general)
    return int(min(jobs or max(1, machine.cores() // processes), len(configs), fitting))


@dataclass
class Child:
    """The process of a run: not started (no process), running (no status) or ended."""

    errors: Path
    """File with its stderr."""
    process: Process | None = None
    status: int | None = None
    began: float = 0.0
    seconds: float = 0.0
    signalled: bool = field(default=False, repr=False)
    """True if the process was asked to stop."""
    machine: str = ""
    """Error of the machine that has ended it, as it has told."""
    passes: bool = False
    """True if the same settings need not meet that error again."""
    _pipe: supervisor_pipe.Listener | None = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        return self.process is not None and self.status is None

    def start(self, begin: Begin) -> bool:
        """Starts the process. Returns False if the process of an earlier session still runs: until it ends, its stderr
        stays locked."""
        self.began = time.monotonic()
        with open(self.errors, "ab", opener=regular) as errors:
            if not take_lock(errors, if_any=True):
                return False
            self._pipe = supervisor_pipe.Listener()
            try:
                self.process = begin(errors, self._pipe.theirs)
            finally:
                self._pipe.begun()
        return True

    def ended(self) -> bool:
        """Returns True once, when the process has ended. After a signal its status is 128 + signal, as in a shell."""
        code = self.process.poll() if self.running and self.process else None
        if code is None:
            return False
        self.status = code if code >= 0 else 128 - code
        self.seconds = time.monotonic() - self.began
        facts = self._pipe.facts() if self._pipe else {}
        self.machine = str(facts.get(supervisor_pipe.MACHINE, ""))
        self.passes = facts.get(supervisor_pipe.PASSES) is True
        if self.status == 0 or self.stopped:
            self.errors.unlink(missing_ok=True)
        return True

    def send(self, number: int) -> None:
        """Sends a signal to the process if it runs."""
        if self.running and self.process is not None:
            interrupt(self.process, number)
            self.signalled = True

    @property
    def stopped(self) -> bool:
        """True if a signal asked it to stop."""
        return self.status is not None and self.status - 128 in signals.NAMES

    def complaint(self) -> str:
        """Returns the reason why it failed, from its stderr, or as it has told: a full disk may take no stderr. Of a
        killed process, only an error says why: the last line may be any warning."""
        lines: list[str] = []
        with contextlib.suppress(OSError):
            lines = read_regular(self.errors, MOST_BYTES).decode(errors="replace").strip().splitlines()
        for n, line in enumerate(lines):
            if line.startswith(ERROR):
                return "\n".join(lines[n:])
        if self.machine:
            return ERROR + self.machine
        if self.status == 128 + KILLED:
            return tr("killed, perhaps because memory ran out")
        if len(lines) > 1 and lines[-1].startswith(_NOTHING_STARTED):
            return "\n".join(lines[:-1])
        return lines[-1] if lines else tr("no message")
