"""main.py in a process of its own that is forked, so that it need not import torch for three seconds."""

import importlib
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, BinaryIO

import pytest

from config.config import GeneralConfig
from config.own import objects
from framework.catalog import ALGOS
from framework.jobs import children
from main import main

ROOT = Path(__file__).resolve().parents[2]

PATIENCE = 120.0
"""Seconds after which a process that should have ended is an error."""


EARLY = (
    "joystick", "gymnasium", "framework.commands.train", "framework.commands.work.train", "framework.runs.session",
    "framework.jobs.many_runs", "framework.pages.figures", "framework.record.tensorboard", "matplotlib.figure",
    "matplotlib.backends.backend_agg", "numpy.ma", "envs.gym.env", "envs.toy.env",
)  # fmt: skip
"""Modules that most of the forked processes import."""


class Forked:
    """A running main.py. `poll`, `wait`, `pid` and `returncode` as those of subprocess.Popen."""

    def __init__(self, *words: str, new_session: bool = False, work: Callable[[], int] | None = None) -> None:
        """work: what the process does; None: main.py with these words."""
        self.returncode: int | None = None
        _import_early()
        self._out, self._err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            if new_session:
                os.setsid()
            become(work or (lambda: main(list(words))), self._out.fileno(), self._err.fileno())

    def poll(self) -> int | None:
        """Returns the exit status, or None if the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, seconds: float = PATIENCE) -> int:
        """Returns the exit status once the process has ended."""
        until = time.monotonic() + seconds
        while (status := self.poll()) is None:
            assert time.monotonic() < until, f"no end: {self.stdout}{self.stderr}"
            time.sleep(0.01)
        return status

    @property
    def stdout(self) -> str:
        """What was written so far."""
        return _content(self._out)

    @property
    def stderr(self) -> str:
        """What was written so far."""
        return _content(self._err)


@cache
def _import_early() -> None:
    """Imports once what each forked process would import: torch, the settings of all algorithms, and what draws."""
    for name in EARLY:
        importlib.import_module(name)
    for algo in ALGOS.available():
        ALGOS.get(algo)


def forked(*words: str) -> Forked:
    """Runs main.py to its end."""
    process = Forked(*words)
    process.wait()
    return process


def forked_program(source: str, *anew: str) -> Forked:
    """Runs a Python program to its end, in the current folder. anew: packages that the program imports itself."""

    def work() -> int:
        for name in [name for name in sys.modules if name.partition(".")[0] in anew]:
            del sys.modules[name]
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)  # the pool of libgomp does not outlive a fork
        exec(compile(source, "<program>", "exec"), {"__name__": "__main__"})
        return 0

    process = Forked(work=work)
    process.wait(300)
    return process


def _content(file: IO[str]) -> str:
    return os.pread(file.fileno(), 10**8, 0).decode()


def _forget_modules_of_tests() -> None:
    """Forgets what other tests imported from folders of theirs, and these folders: a new process has neither."""
    ours = (sys.prefix, sys.base_prefix, str(ROOT))
    sys.path[:] = [path for path in sys.path if path == os.getcwd() or path.startswith(ours)]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith("/") and not file.startswith(ours):
            del sys.modules[name]


def _show_warnings() -> None:
    """Writes warnings to stderr by Python's own rules, as a new process does; pytest records all that are raised."""
    warnings.resetwarnings()
    for module in ("__main__", r"gymnasium\."):  # gymnasium has a rule of its own
        warnings.filterwarnings("default", category=DeprecationWarning, module=module)
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category, append=True)
    warnings.showwarning = lambda message, category, file, line, *_: sys.stderr.write(
        warnings.formatwarning(message, category, file, line)
    )


def become(work: Callable[[], int], out: int, err: int, failed: int = 1) -> None:
    """Ends this process, a forked one, with the exit status of the work. out, err: descriptors of the files that it
    prints to. failed: status after an error that the work does not catch."""
    status = failed
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False, buffering=1) for number in (1, 2))  # noqa: SIM115
        _forget_modules_of_tests()
        _show_warnings()
        status = work()
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class ForkedPopen:
    """subprocess.Popen for the runs of a group or a tuning: commands of main.py."""

    stdin: BinaryIO | None = None
    """Pipe for the objects of a program's own, which Python code after -c receives."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stderr: BinaryIO,
        process_group: int,
        env: Mapping[str, str],
        pass_fds: Sequence[int],
        cwd: Path | None = None,
        **_: Any,
    ) -> None:
        sys.stdout.flush()
        self.returncode: int | None = None
        reader, writer = os.pipe() if command[1] == "-c" else (None, None)
        self.pid = os.fork()
        if self.pid:
            if reader is not None and writer is not None:
                os.close(reader)
                self.stdin = open(writer, "wb")  # noqa: SIM115
            return

        os.chdir(cwd or Path())
        if reader is not None:
            os.dup2(reader, 0)
            sys.stdin = open(0, closefd=False)  # noqa: SIM115

        def work() -> int:
            os.setpgid(0, process_group)
            [pipe] = pass_fds
            os.closerange(3, pipe)  # as exec does: among them is the lock of the tuner
            os.closerange(pipe + 1, 1000)
            os.environ |= env
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            if reader is None:
                return main(list(command[2:]))
            objects._REGISTERED.clear()  # a new process has none
            sys.argv = ["-c", *command[3:]]
            exec(command[2], {})
            return 0

        become(work, os.open(os.devnull, os.O_WRONLY), stderr.fileno())

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self) -> int | None:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs draw no curve at their end, as with general_cfg.save_fig=false, unless they are told to."""
    with monkeypatch.context() as patch:
        patch.setattr(GeneralConfig.model_fields["save_fig"], "default", False)
        GeneralConfig.model_rebuild(force=True)
        yield
    GeneralConfig.model_rebuild(force=True)


@pytest.fixture
def forking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of runs are forked, and the folder is a new one."""
    monkeypatch.chdir(tmp_path)
    fork_runs(monkeypatch)


def fork_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the processes of runs forked ones."""
    _import_early()
    monkeypatch.setattr(children, "subprocess", SimpleNamespace(Popen=ForkedPopen, DEVNULL=None, PIPE=None))
    monkeypatch.setattr(children, "POLL_SECONDS", 0.01)


def wait_for(condition: Callable[[], bool], process: Forked | None = None, seconds: float = 60) -> None:
    """Waits until this is true; the process, if there is one, must run until then."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        assert process is None or process.poll() is None, process.stderr
        time.sleep(0.05)
