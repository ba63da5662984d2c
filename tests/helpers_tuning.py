"""Tuning whose processes are forked: none of them need import torch again."""

import csv
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from framework.runs import children
from main import main


class ForkedPopen:
    """subprocess.Popen for commands of main.py."""

    def __init__(self, command: Sequence[str], *, stderr: BinaryIO, process_group: int, **_: Any) -> None:
        sys.stdout.flush()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid:
            return
        status = 1
        try:
            os.setpgid(0, process_group)
            os.dup2(stderr.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.closerange(3, 1000)  # as exec does: among them is the lock of the tuner
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            sys.stdout, sys.stderr = (open(number, "w", closefd=False, buffering=1) for number in (1, 2))  # noqa: SIM115
            status = main(list(command[2:]))
        except SystemExit as end:
            status = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

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
def forking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of runs are forked, and the folder is a new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(children, "subprocess", SimpleNamespace(Popen=ForkedPopen, DEVNULL=None))
    monkeypatch.setattr(children, "POLL_SECONDS", 0.01)


def table(folder: str | Path, without: Sequence[str] = ("seconds",)) -> list[dict[str, str]]:
    """The rows of trials.csv."""
    with open(Path(folder) / "trials.csv", encoding="utf-8", newline="") as file:
        return [{key: row[key] for key in row if key not in without} for row in csv.DictReader(file)]


def run(*words: str) -> int:
    """The exit status, also where argparse ends the program."""
    try:
        return main(list(words))
    except SystemExit as end:
        return int(end.code or 0)


def written(text: str, name: str = "tune.yaml") -> Path:
    path = Path(name)
    path.write_text(text)
    return path


GENERAL = "env_name: toy, seed: 3, save_fig: false, online_eval_episode: 2, model_save_fre: 100, iteration_steps: 30"
