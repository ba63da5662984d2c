"""What a run records of the machine: processor, memory and GPU."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from config import machine
from framework.disk.csv_table import read_csv
from framework.loop.iteration import Count
from framework.record import system_log
from framework.record.system_log import EVERY, Gpu, SystemLog


class Clock:
    """A clock that is set by hand, and a place in the training."""

    def __init__(self) -> None:
        self.now, self.step = 100.0, 0

    def __call__(self) -> float:
        return self.now

    def place(self) -> tuple[Count, float]:
        return Count(self.step, 0, self.step // 2), self.now - 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "system.csv"


def test_the_percent_are_of_one_core_since_the_last_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, used = Clock(), iter([10.0, 13.0, 23.0])
    monkeypatch.setattr(machine, "use", lambda *others: machine.Use(next(used), 50_000_000))
    log = SystemLog(path, clock.place, now=clock)
    log.settled()
    assert read_csv(path) == [], "not before its time"
    for seconds, step in ((6.0, 10), (11.0, 20)):
        clock.now, clock.step = 100 + seconds, step
        log.settled()
        log.settled()  # a round later
    rows = read_csv(path)
    assert [row["cpu_percent"] for row in rows] == [50.0, 200.0]  # (13 - 10) / 6 and (23 - 13) / 5
    assert [row["memory_mb"] for row in rows] == [50.0, 50.0]
    assert [(row["step"], row["update"], row["seconds"]) for row in rows] == [(10, 5, 6.0), (20, 10, 11.0)]
    assert path.read_text().endswith(",200.0,50.0,,\n")


def test_a_row_that_takes_long_is_followed_by_a_longer_pause(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    def slow(*others: object) -> machine.Use:
        clock.now += 0.1
        return machine.Use(0.0, None)

    monkeypatch.setattr(machine, "use", slow)
    log = SystemLog(path, clock.place, now=clock)
    clock.now += EVERY
    log.settled()
    clock.now += 49.0  # 500 times 0.1 s
    log.settled()
    assert len(read_csv(path)) == 1
    clock.now += 2.0
    log.settled()
    assert len(read_csv(path)) == 2


def test_a_resume_cuts_the_rows_behind_its_checkpoint_off(path: Path) -> None:
    clock = Clock()
    log = SystemLog(path, clock.place, now=clock)
    for step in (10, 20, 30):
        clock.now, clock.step = clock.now + 2 * EVERY, step
        log.settled()
    log.close()
    clock.step = 25
    again = SystemLog(path, clock.place, now=clock)
    clock.now += 2 * EVERY
    again.settled()
    assert [row["step"] for row in read_csv(path)] == [10, 20, 25]
    assert again.state() == {}, "no checkpoint depends on it"


def test_a_file_that_cannot_be_written_ends_no_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    path.write_text("other,columns\n1,2\n")
    log = SystemLog(path, clock.place, now=clock)
    clock.now += 2 * EVERY
    log.settled()
    assert path.read_text() == "other,columns\n1,2\n"
    path.unlink()
    log = SystemLog(path, clock.place, now=clock)

    def full(*others: object) -> machine.Use:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine, "use", full)
    clock.now += 2 * EVERY
    log.settled()
    log.settled()
    log.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_processes_below_and_others_count() -> None:
    script = "import time, sys\nwhile time.process_time() < 0.5: pass\nprint('used', flush=True)\ntime.sleep(60)"
    before = machine.use()
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        running = machine.use()
        assert running.cpu_seconds - before.cpu_seconds >= 0.45
        assert running.memory is not None
        assert before.memory is not None
        assert running.memory > before.memory + 4e6
        twice = machine.use([child.pid])
        assert twice.cpu_seconds - running.cpu_seconds < 0.4, "a process counts once"
    finally:
        child.kill()
        child.communicate()
    assert machine.use().cpu_seconds - before.cpu_seconds >= 0.45, "one that has ended has been counted"
    assert machine.use([2**22 + 1]).memory


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
def test_the_gpu_says_what_its_program_has_said_to_the_last_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\necho "37, 2048"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-abc")
    gpu = Gpu("cuda:1")
    assert gpu.read() == {}
    until = time.monotonic() + 20
    while not (cells := gpu.read()):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert cells == {"gpu_percent": 37.0, "gpu_memory_mb": 2147.5}  # 2048 MiB
    assert (tmp_path / "asked").read_text().startswith("-i GPU-abc --query-gpu=utilization.gpu,memory.used ")
    gpu.close()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert Gpu("cuda").read() == {}
    assert system_log.COLUMNS[-2:] == ("gpu_percent", "gpu_memory_mb")


def test_the_end_of_a_run_has_a_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(machine, "use", lambda *others: machine.Use(0.0, None))
    log = SystemLog(path, clock.place, now=clock)
    clock.now, clock.step = 103.0, 30
    log.close()
    log.close()
    assert [(row["step"], row["seconds"]) for row in read_csv(path)] == [(30, 3.0)]
    log = SystemLog(path, clock.place, now=clock)
    clock.now = 110.0
    log.close()
    assert len(read_csv(path)) == 1, "nothing was trained since"
