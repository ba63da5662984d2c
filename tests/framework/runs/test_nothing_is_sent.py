"""A run, and what is done with it afterwards, asks nothing of the network and writes into its own folder alone."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from main import main
from tests.tools.process import Forked

NETWORK = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind", "socket.getaddrinfo", "socket.gethostby")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate")
TRAINED = [
    "--algo", "DQN", "--env", "CartPole-v1", "--into", "run", "general_cfg.max_total_step=300",
    "general_cfg.online_eval=true", "general_cfg.online_eval_episode=2", "general_cfg.collect_traj=true",
    "general_cfg.loggers=[csv,tensorboard]", "general_cfg.traces=results/traces", "general_cfg.seed=1",
]  # fmt: skip


def watched(words: list[str], folder: Path) -> list[str]:
    """Runs main.py. Returns what it asks of the network, and what it changes outside of a folder."""
    record = folder.parent / "record"

    def work() -> int:
        file = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        ours = str(folder)

        def hook(event: str, values: tuple[Any, ...]) -> None:
            if event.startswith(NETWORK):
                os.write(file, f"{event} {values[1:]}\n".encode())
            changes = event in CHANGES or (event == "open" and isinstance(values[2], int) and values[2] & WRITES)
            if changes and isinstance(values[0], str | bytes | os.PathLike):
                place = os.path.abspath(os.fsdecode(values[0]))
                if not place.startswith((ours, "/dev/null")) and "__pycache__" not in place:
                    os.write(file, f"{event} {place}\n".encode())

        sys.addaudithook(hook)
        return main(words)

    process = Forked(work=work)
    assert process.wait() == 0, process.stderr
    return record.read_text().splitlines()


def test_a_run_sends_nothing_and_writes_into_its_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert watched(TRAINED, folder / "run") == []
    for words in (
        ["test", "run", "--episodes", "2", "--into", "out"],
        ["runs", "run"],
        ["resume", "run", "general_cfg.max_total_step=400"],
    ):
        assert watched(words, folder) == []
