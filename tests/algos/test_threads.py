"""torch's threads: one for small updates, all cores for large ones, and on a resume as many as before."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from config import machine
from config.read.loader import load
from framework.assemble import build
from framework.catalog import ALGOS, ENVS
from main import main

ROOT = Path(__file__).parents[2]
WIDE = "[{layer_type: linear, layer_size: [256, 256], activation: relu}]"
PENDULUM = ["env_cfg.id=Pendulum-v1", f"algo_cfg.actor_layers={WIDE}", "algo_cfg.batch_size=256"]
ROWS = ["general_cfg.algo_name=PPO", "env_cfg.n_envs=1024", "algo_cfg.batch_size=131072"]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def chosen(*words: str, processes: int = 1) -> int:
    """Number of threads after an agent was made."""
    config = load(None, list(words), find_algo=ALGOS, find_env=ENVS)
    env = build.make_env(config, config.env.n_envs)
    agent = build.make_agent(config, build.env_spec(config, env), 1, build.CPU)
    build.choose_threads(config, agent, processes)
    env.close()
    return torch.get_num_threads()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], 1),  # 64 samples, 256 x 256
        (["algo_cfg.batch_size=512"], 4),  # 512 x 256 x 256 = 33.6 million
        (["algo_cfg.batch_size=488"], 3),  # 488 x 256 x 256 = 31.98 million
        (["algo_cfg.batch_size=244"], 1),  # 15.99 million
        (["algo_cfg.batch_size=512", "general_cfg.torch_threads=3"], 3),
        (["general_cfg.algo_name=SAC", *PENDULUM], 2),  # 256 x 256 x 256
        ([*ROWS, "algo_cfg.sgd_batch_size=32768"], 4),  # 32768 x 64 x 64
        ([*ROWS, "algo_cfg.sgd_batch_size=256"], 1),
        (["general_cfg.algo_name=QLearning", "env_cfg.id=Taxi-v4"], 1),
    ],
)
def test_the_work_of_an_update_decides(monkeypatch: pytest.MonkeyPatch, words: list[str], expected: int) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 4)
    assert chosen(*words) == expected


def test_learners_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 4)
    assert chosen("algo_cfg.batch_size=512", processes=2) == 2
    assert chosen("algo_cfg.batch_size=512", processes=8) == 1


def test_a_resume_keeps_the_number_as_far_as_there_are_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build, "WORK_OF_A_THREAD", 1)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    words = ["general_cfg.env_name=toy", "general_cfg.algo_name=DQN", "general_cfg.save_fig=false"]

    def resume(cores: int, steps: int) -> tuple[int, bool]:
        """Returns the number of threads, and whether the resume is said to differ in it."""
        monkeypatch.setattr(machine, "cores", lambda: cores)
        assert main(["--resume", "run", f"general_cfg.max_total_step={steps}"]) == 0
        because = json.loads(Path("tasks/run/run.json").read_text())["resumes"][-1]["inexact_because"]
        return torch.get_num_threads(), "torch threads: 2 -> 1" in because

    assert main([*words, "general_cfg.max_total_step=30", "--into", "tasks/run"]) == 0
    assert torch.get_num_threads() == 2
    assert resume(4, 60) == (2, False)
    assert resume(1, 90) == (1, True)


def test_first_weights_do_not_depend_on_the_number_of_cores() -> None:
    with build.one_thread():
        assert torch.get_num_threads() == 1


POLICY = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.mark.parametrize("package", ["main, config.read.loader", "framework"])
def test_how_threads_wait_is_chosen_before_torch_is_loaded(package: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in POLICY}
    code = f"import os, sys, {package}; print('torch' in sys.modules, *set({POLICY}) & set(os.environ))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    loaded, *chosen = done.stdout.split()
    assert loaded == "False"
    assert len(chosen) == 1


@pytest.mark.parametrize(
    ("running", "given", "expected"),
    [
        ("1", {}, {"GOMP_SPINCOUNT": "3000"}),  # this process alone
        ("2", {}, {"OMP_WAIT_POLICY": "passive"}),  # two cores are wanted, and another program has one of them
        ("", {}, {"OMP_WAIT_POLICY": "passive"}),  # no Linux
        ("0", {}, {"OMP_WAIT_POLICY": "passive"}),  # a system that does not tell
        ("1", {"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
        ("2", {"GOMP_SPINCOUNT": "5"}, {"GOMP_SPINCOUNT": "5"}),
    ],
)
def test_threads_that_wait_sleep_at_once_where_another_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: str, given: dict[str, str], expected: dict[str, str]
) -> None:
    """Threads that spin beside it make an update many times slower."""
    monkeypatch.setattr(machine, "PROC", tmp_path)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "environ", dict(given))
    if running:
        (tmp_path / "loadavg").write_text(f"0.52 0.48 0.40 {running}/312 4711\n")
    machine.choose_waiting()
    assert os.environ == expected


def test_cores_that_this_process_does_not_use_may_be_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PROC", tmp_path)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for others, expected in ((6, "GOMP_SPINCOUNT"), (7, "OMP_WAIT_POLICY")):
        monkeypatch.setattr(os, "environ", {})
        (tmp_path / "loadavg").write_text(f"6.52 5.48 2.40 {others + 1}/312 4711\n")
        machine.choose_waiting()
        assert list(os.environ) == [expected]


def test_memory_is_kept_only_where_the_c_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without glibc's mallopt nothing happens."""
    machine.keep_freed_memory()
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: object())
    machine.keep_freed_memory()


def test_an_older_c_library_gets_the_largest_threshold_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a threshold for arrays, one for trimming alone would make everything slower."""
    calls: list[tuple[int, int]] = []

    def library(most: int) -> object:
        def mallopt(parameter: int, value: int) -> int:
            calls.append((parameter, value >> 20))
            return int(parameter != machine.MMAP_THRESHOLD or value <= most)

        return type("Library", (), {"mallopt": staticmethod(mallopt)})

    for most, expected in ((64 << 20, [64, 256]), (32 << 20, [64, 32, 256]), (0, [64, 32])):
        calls.clear()
        monkeypatch.setattr(machine.ctypes, "CDLL", lambda name, most=most: library(most))
        machine.keep_freed_memory()
        assert [size for _, size in calls] == expected


def test_with_ray_the_learners_choose_and_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a resume on other cores would be called exact."""
    monkeypatch.setattr(machine, "cores", lambda: 4)
    torch.set_num_threads(1)
    for backend, expected in (("ray", 1), ("single", 3)):
        config = load(None, [f"general_cfg.mp_backend={backend}"], find_algo=ALGOS, find_env=ENVS)
        build.keep_threads(config, 3)
        assert torch.get_num_threads() == expected


def test_the_processor_is_told_by_its_name_and_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code of one is not for another; Linux writes tabs before the colons."""
    monkeypatch.setattr(machine, "PROC", tmp_path)
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9R14\nflags\t\t: fpu avx2\n\nprocessor\t: 1\n"
    )
    identity = machine.processor.__wrapped__()
    assert all(word in identity for word in ("17", "AMD EPYC 9R14", "fpu avx2"))
    assert machine.processor_name() == "AMD EPYC 9R14"
