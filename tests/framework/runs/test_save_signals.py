"""SIGUSR1, SIGUSR2 and the clock save a checkpoint between two rounds and change nothing else; a second SIGTERM says
nothing."""

import json
import os
import re
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest

from framework.archive.run import RecordedRun
from framework.commands import film
from framework.commands.line import start
from framework.commands.work import entry
from framework.loop.trainer import Trainer
from framework.runs import signals
from framework.runs.experiment import Experiment
from framework.runs.signals import SaveSignals, StopSignals, ignored_by_children
from main import main
from tests.tools.process import Forked, wait_for

WORDS = ("--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=shifted", "general_cfg.max_total_step=300",
         "general_cfg.seed=3", "general_cfg.save_fig=false", "general_cfg.online_eval_episode=2",
         "general_cfg.model_save_fre=60", "general_cfg.keep_checkpoints=2", "algo_cfg.learning_starts=20")  # fmt: skip


def test_a_signal_is_taken_once_and_the_handlers_before_come_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with SaveSignals() as saving:
        assert saving.taken() is None
        os.kill(os.getpid(), signal.SIGUSR2)
        assert (saving.taken(), saving.taken()) == ("SIGUSR2", None)
    assert signal.getsignal(signal.SIGUSR1) == before


def test_only_ctrl_c_ends_a_run_that_stops_already(capfd: pytest.CaptureFixture[str]) -> None:
    """A batch system sends SIGTERM to each process of a job, and its script passes on its own."""
    ended: list[int] = []
    with StopSignals(again=ended.append) as stop:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
        assert (stop.received, ended) == (signal.SIGTERM, [])
        os.kill(os.getpid(), signal.SIGINT)
        assert ended == [signal.SIGINT]
    said = capfd.readouterr().err
    assert said.count("saving and stopping") == 1
    assert "SIGINT (Ctrl-C) quits immediately" in said  # nobody may be there to press a key


@pytest.mark.run
def test_ctrl_c_while_a_step_is_compiled_says_that_it_waits(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Compiling:
        compiles = True

    def train(training: Experiment) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(type(training.backend.agent), "gradient_steps", lambda agent: [Compiling()])
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Experiment, "train", train)
    assert main([*WORDS]) == 130
    said = capfd.readouterr().err
    assert "Ctrl-C: saving and stopping, as soon as a gradient step is compiled, which may take a minute. Press" in said


def test_handlers_that_an_environment_sets_are_taken_back(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that ignores signals, or ends the process, would cost the progress since the last checkpoint."""
    monkeypatch.setattr(signals, "LOOK_SECONDS", 0.0)
    before = signal.getsignal(signal.SIGTERM)
    for handler in (signal.SIG_IGN, signal.SIG_DFL, lambda *arguments: None):
        with StopSignals() as stop:
            signal.signal(signal.SIGTERM, handler)
            assert not stop.came()
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.came()
        assert stop.came(), "as a run is asked when it has ended"
        assert signal.getsignal(signal.SIGTERM) == before
    assert capfd.readouterr().err.count("saving and stopping") == 3


def test_programs_that_are_started_meanwhile_ignore_signals() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)"
    with ignored_by_children(signals.SAVING):
        assert subprocess.run([sys.executable, "-S", "-c", program]).returncode == 0
    assert subprocess.run([sys.executable, "-S", "-c", program]).returncode == -signal.SIGUSR1


@pytest.mark.run
def test_a_run_that_is_asked_to_save_says_so_in_a_line_and_stays_the_run_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--into", str(tmp_path / "alone")]) == 0
    capfd.readouterr()
    kept: list[list[str]] = []
    before = Trainer.round

    def round_with_signals(trainer: Trainer) -> None:
        before(trainer)
        if trainer.count.step in (150, 250):
            os.kill(os.getpid(), signal.SIGUSR1 if trainer.count.step == 150 else signal.SIGUSR2)
        if trainer.count.step == 151:
            kept.append(numbers(tmp_path / "run"))

    monkeypatch.setattr(Trainer, "round", round_with_signals)
    assert main([*WORDS, "--into", str(tmp_path / "run")]) == 0
    said = capfd.readouterr().out
    log = (tmp_path / "run" / "logs" / "log.txt").read_text()
    saved = re.findall(r"(SIGUSR\d): checkpoint (\d+) is saved; training goes on", said)
    assert saved == re.findall(r"(SIGUSR\d): checkpoint (\d+) is saved; training goes on", log)
    assert [name for name, _ in saved] == ["SIGUSR1", "SIGUSR2"]
    assert len(kept[0]) == 2
    assert kept[0][-1] == saved[0][1]
    assert numbers(tmp_path / "run") == numbers(tmp_path / "alone"), "it goes with the next save point"
    assert kept[0][-1] not in numbers(tmp_path / "run")
    assert_same(tmp_path / "run", tmp_path / "alone")


@pytest.mark.run
@pytest.mark.parametrize("keep", [2, -1])
def test_a_checkpoint_of_the_clock_goes_with_the_next_one_and_changes_nothing(
    keep: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = (*WORDS, f"general_cfg.keep_checkpoints={keep}")
    assert main([*words, "general_cfg.save_minutes=0", "--into", str(tmp_path / "alone")]) == 0
    kept: list[int] = []
    before = Trainer.round

    def look(trainer: Trainer) -> None:
        before(trainer)
        kept.append(len(numbers(tmp_path / "run")) if (tmp_path / "run/models").exists() else 0)

    monkeypatch.setattr(Trainer, "round", look)
    assert main([*words, "general_cfg.save_minutes=0.000001", "--into", str(tmp_path / "run")]) == 0
    assert "training goes on" not in capfd.readouterr().out
    assert kept[1] == 1, "after the first round"
    assert max(kept) <= len(numbers(tmp_path / "alone"))
    assert numbers(tmp_path / "run") == numbers(tmp_path / "alone")
    assert_same(tmp_path / "run", tmp_path / "alone")


@pytest.mark.run
def test_a_run_that_is_killed_goes_on_from_the_checkpoint_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine stops before the first save point. Of all that are kept, that one goes with the next one."""
    words = (*WORDS, "general_cfg.model_save_fre=1000000", "general_cfg.save_minutes=0.000001")
    words += ("general_cfg.keep_checkpoints=-1",)
    before = Trainer.round

    def killed(trainer: Trainer) -> None:
        before(trainer)
        if trainer.count.update == 87:
            os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "round", killed)
        run = Forked(*words, "--into", str(tmp_path / "run"))
        assert run.wait() == -signal.SIGKILL
    assert numbers(tmp_path / "run") == ["86"], "that of the round before"
    assert main(["resume", str(tmp_path / "run")]) == 0
    assert main([*words, "general_cfg.save_minutes=0", "--into", str(tmp_path / "alone")]) == 0
    assert numbers(tmp_path / "run") == numbers(tmp_path / "alone")
    assert_same(tmp_path / "run", tmp_path / "alone")


@pytest.mark.run
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_processes_of_a_run_reaches_no_process_of_its_environment(tmp_path: Path, number: int) -> None:
    """The end of a terminal or of a batch job; the run still collects its round, and saves the state of its rows."""
    rows = ("env_cfg.n_envs=2", "env_cfg.vectorization=async", "general_cfg.max_total_step=1000000")
    run = Forked(*WORDS, *rows, "--into", str(tmp_path / "run"), new_session=True)
    wait_for(lambda: (tmp_path / "run/models").exists() and numbers(tmp_path / "run"), run)
    os.killpg(run.pid, number)
    assert run.wait() == 128 + number, run.stderr
    assert (run.stderr.count("saving and stopping"), "error" in run.stderr) == (1, False)
    facts = json.loads((tmp_path / "run/run.json").read_text())
    assert (RecordedRun(tmp_path / "run").state, str(facts["update"])) == ("interrupted", numbers(tmp_path / "run")[-1])


def assert_same(run: Path, other: Path) -> None:
    """Checks that two runs have learned the same."""
    newest = numbers(other)[-1]
    for name in ("results/train.csv", "results/eval.csv", f"models/{newest}/state.safetensors"):
        assert (run / name).exists() == (other / name).exists()
        assert not (run / name).exists() or (run / name).read_bytes() == (other / name).read_bytes(), name


def numbers(run: Path) -> list[str]:
    """Returns the checkpoints of a run."""
    return sorted((path.name for path in (run / "models").iterdir() if path.name.isdecimal()), key=int)


@pytest.mark.parametrize("mode", ["train", "test"])
def test_a_test_that_is_stopped_does_not_say_that_it_saves(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[bool] = []
    monkeypatch.setattr(entry, "stoppable", lambda config, play, saves=True: said.append(saves) or 0)
    assert entry.run(SimpleNamespace(general=SimpleNamespace(mode=mode)), []) == 0  # type: ignore[arg-type]
    monkeypatch.setattr(start, "several", lambda request, do: do({"": None}))
    film.run(Namespace())
    assert said == [mode == "train", False]
