"""main.py in a process of its own that is forked, so that it need not import torch for three seconds."""

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import IO

from main import main

PATIENCE = 120.0
"""Seconds after which a process that should have ended is an error."""


class Forked:
    """A running main.py. `poll`, `wait`, `pid` and `returncode` as those of subprocess.Popen."""

    def __init__(self, *words: str, new_session: bool = False) -> None:
        self.returncode: int | None = None
        self._out, self._err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            if new_session:
                os.setsid()
            _become(lambda: main(list(words)), self._out, self._err)

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


def forked(*words: str) -> Forked:
    """Runs main.py to its end."""
    process = Forked(*words)
    process.wait()
    return process


def _content(file: IO[str]) -> str:
    return os.pread(file.fileno(), 10**8, 0).decode()


def _become(work: Callable[[], int], out: IO[str], err: IO[str]) -> None:
    """Ends this process with the exit status of the work; what it prints goes to the files."""
    status = 1
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115  # line by line, as Python does
        status = work()
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
