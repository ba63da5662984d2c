"""--keep-alive: when a child is started again, with what words, and when not."""

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.disk.task_dir import held_lock
from framework.jobs import supervisor
from framework.jobs.supervisor import Deaths, End, Supervisor, reached
from framework.runs import supervisor_pipe
from framework.screen import stages
from main import main
from tests.framework.jobs.test_seeds import children_of, wait_for
from tests.tools.process import Forked

CHILD = """
import json, os, signal, sys, time
place = os.environ["PLACE"]
words = sys.argv[1:]
with open(os.path.join(place, "starts.txt"), "a") as file:
    file.write(" ".join(words) + chr(10))
number = len(open(os.path.join(place, "starts.txt")).read().splitlines())
folder = os.path.join(place, "run")
def tell(**facts):
    os.write(int(os.environ["JOYSTICK_SUPERVISOR"]), json.dumps(facts).encode() + b"\\n")
def save(update):
    os.makedirs(os.path.join(folder, "models", str(update)), exist_ok=True)
def begin():
    os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
    open(os.path.join(folder, "logs", "log.txt"), "a").close()
    tell(folder=folder)
def die(number=signal.SIGKILL):
    os.kill(os.getpid(), number)
    time.sleep(10)
"""
"""Beginning of a program in the place of main.py. `number` counts its starts."""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Returns a function that supervises a program, and returns the exit status and the words of each start."""
    monkeypatch.setenv("PLACE", str(tmp_path))
    monkeypatch.setattr(supervisor, "MAIN", tmp_path / "child.py")
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.01)

    def run(program: str, again=lambda folder: ["resume", folder.name]) -> tuple[int, list[str]]:
        (tmp_path / "child.py").write_text(CHILD + program)
        status = Supervisor(["train"], again).run()
        return status, (tmp_path / "starts.txt").read_text().splitlines()

    return run


def test_pauses_grow_until_there_is_a_new_checkpoint_and_the_last_death_is_the_end() -> None:
    deaths = Deaths(-1)
    assert [deaths.another(-1) for _ in range(3)] == [1.0, 3.0, 9.0]
    assert deaths.another(50) == 1.0
    assert [deaths.another(50) for _ in range(7)] == [3.0, 9.0, 27.0, 81.0, 243.0, 300.0, None]


@pytest.mark.parametrize(
    ("end", "again"),
    [
        (End(137, killed=signal.SIGKILL), True),
        (End(139, killed=signal.SIGSEGV), True),
        (End(138, killed=signal.SIGUSR1), True),
        (End(143, killed=signal.SIGTERM), False),
        (End(143), False),
        (End(130), False),
        (End(2), False),
        (End(1), False),
        (End(2, machine="the disk is full"), True),
    ],
)
def test_what_is_no_fault_of_settings_and_code_and_was_asked_for_by_nobody_is_started_again(end, again) -> None:
    assert end.again == again


def test_a_killed_run_goes_on_from_its_checkpoint_and_each_line_is_in_its_log(child, tmp_path, capfd) -> None:
    status, starts = child("begin()\nif number < 3:\n    save(number * 50)\n    die()\n")
    assert (status, starts) == (0, ["train", "resume run", "resume run"])
    said = capfd.readouterr().err
    assert "killed (SIGKILL), perhaps because memory ran out; it goes on from checkpoint 50 in 0 s" in said
    assert said.count("death 1 of at most 8") == 2
    log = (tmp_path / "run" / "logs" / "log.txt").read_text()
    assert log.count("WARNING --keep-alive: the run was killed") == 2


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again_in_an_empty_place(
    child, tmp_path, capfd
) -> None:
    program = (
        "fresh = not os.path.exists(folder)\nbegin()\nif number < 2:\n    die(signal.SIGSEGV)\nsys.exit(not fresh)"
    )
    assert child(program) == (0, ["train", "train"])
    assert "ended by SIGSEGV; it begins again" in capfd.readouterr().err


def test_the_supervisor_gives_up_and_has_the_status_of_the_last_child(child, capfd) -> None:
    status, starts = child("begin()\nsave(50)\ndie()")
    assert (status, len(starts)) == (137, 1 + supervisor.MOST_DEATHS - 1)
    assert "given up after 8 deaths without a new checkpoint" in capfd.readouterr().err


@pytest.mark.parametrize("status", [1, 2, 130, 143])
def test_a_mistake_and_a_stop_end_it_without_a_word(child, capfd, status) -> None:
    assert child(f"begin()\nsave(50)\nsys.exit({status})") == (status, ["train"])
    assert "keep-alive" not in capfd.readouterr().err


def test_an_error_of_the_machine_is_started_again_once_there_is_a_run(child, capfd) -> None:
    assert child("tell(machine='no Ray here')\nsys.exit(2)") == (2, ["train"])
    program = "begin()\nsave(50)\nif number < 3:\n    tell(machine='No space left')\n    sys.exit(2)"
    assert child(program) == (0, ["train", "train", "resume run"])
    assert "No space left; it goes on from checkpoint 50" in capfd.readouterr().err


def test_an_error_of_the_machine_after_a_death_before_the_first_checkpoint_is_started_again(child, capfd) -> None:
    """Such as a Ray that does not start on a machine that is busy."""
    program = "if number == 1: die()\nif number == 2: tell(machine='busy'); sys.exit(2)\nbegin(); save(1)"
    status, starts = child(program)
    assert (status, len(starts)) == (0, 3), capfd.readouterr().err


def test_what_was_killed_after_its_end_is_not_started_again(child, tmp_path) -> None:
    program = "begin()\nsave(50)\nopen(os.path.join(folder, 'run.json'), 'w').write('{\"finished\": true}')\ndie()"
    assert child(program) == (0, ["train"])


def test_words_that_continue_a_run_themselves_stay_as_they_are(child) -> None:
    assert child("begin()\nsave(50)\nif number < 2:\n    die()\n", again=None) == (0, ["train", "train"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_child_once_and_a_stop_in_a_pause_ends_it(child, tmp_path, number, monkeypatch) -> None:
    got = tmp_path / "got.txt"
    program = (
        f"signal.signal({int(number)}, lambda n, f: (open({str(got)!r}, 'a').write('x'), number == 1 and "
        f"n != signal.SIGUSR1 and sys.exit(128 + n)))\nbegin()\nsave(50)\nos.kill(os.getppid(), {int(number)})\n"
        "time.sleep(0.3)\n"
    )
    status, starts = child(program)
    assert got.read_text() == "x"
    assert starts == ["train"]
    assert status == (0 if number == signal.SIGUSR1 else 128 + number)


def test_the_pipe_is_not_inherited_and_its_end_hurts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    monkeypatch.setenv(supervisor_pipe.VARIABLE, str(theirs))
    monkeypatch.setattr(supervisor_pipe, "_pipe", None)
    supervisor_pipe.connect()
    assert (supervisor_pipe.connected(), os.get_inheritable(theirs)) == (True, False)
    assert supervisor_pipe.VARIABLE not in os.environ
    supervisor_pipe.tell_folder(Path("x"))
    assert json.loads(os.read(ours, 100)) == {"folder": "x"}
    os.close(ours)
    supervisor_pipe.tell_machine("nobody reads it")
    os.close(theirs)


def test_only_the_remains_of_a_killed_start_are_taken_for_them(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert not supervisor.was_killed_early(run)
    (run / "models").mkdir(parents=True)
    (run / "config.yaml").touch()
    assert supervisor.was_killed_early(run)
    lock = held_lock(run)
    assert not supervisor.was_killed_early(run), "another process writes there"
    lock.close()
    (run / "thesis.tex").touch()
    assert not supervisor.was_killed_early(run)
    (run / "thesis.tex").unlink()
    for name in ("journal", ".50.tmp"):
        (run / "models" / name).mkdir()
    assert supervisor.was_killed_early(run), "in its first save"
    for name in ("best", "50"):
        (run / "models" / name).mkdir()
        assert not supervisor.was_killed_early(run)


SHORT = ("--algo=QLearning", "general_cfg.env_name=toy", "env_cfg.id=shifted", "general_cfg.max_total_step=200",
         "general_cfg.save_fig=false", "general_cfg.online_eval_episode=2", "general_cfg.seed=3")  # fmt: skip


@pytest.mark.run
def test_a_folder_that_exists_is_gone_on_with_or_has_finished_or_is_another_run(
    tmp_path: Path, monkeypatch, capfd
) -> None:
    """What a requeued job types again. The child is this process."""
    monkeypatch.chdir(tmp_path)
    words = [*SHORT, "--into", "run"]
    started: list[list[str]] = []
    monkeypatch.setattr(Supervisor, "run", lambda self: started.append(self.words) or main(self.words))
    assert main([*words, "--keep-alive"]) == 0
    assert main([*words, "--keep-alive"]) == 0
    assert started == [words]
    assert "run has finished: nothing is left to train" in capfd.readouterr().out
    more = [word.replace("=200", "=300") for word in words]
    assert main([*more, "--keep-alive"]) == 0
    assert started[1][:1] == ["resume"]
    assert started[1][2:] == ["general_cfg.max_total_step=300"]
    assert main([*more, "--keep-alive", "algo_cfg.gamma=0.5"]) == 2
    assert "algo_cfg.gamma: 0.99 -> 0.5: cannot change in a resumed run" in capfd.readouterr().err
    assert main(["resume", "run", "--keep-alive", "general_cfg.max_total_step=400"]) == 0
    assert started[-1] == ["resume", "run", "general_cfg.max_total_step=400"]
    other = [word.replace("QLearning", "Sarsa") for word in words]
    assert main([*other, "--keep-alive"]) == 2
    assert "run was trained with QLearning, and algo_name is Sarsa" in capfd.readouterr().err


@pytest.mark.run
def test_a_finished_run_whose_seed_was_drawn_is_not_evaluated_again(tmp_path: Path, monkeypatch, capfd) -> None:
    """The first job of an array that begins at 0 has this seed."""
    monkeypatch.chdir(tmp_path)
    words = [*SHORT, "general_cfg.seed=0", "--into", "run", "--keep-alive"]
    words.remove("general_cfg.seed=3")
    monkeypatch.setattr(Supervisor, "run", lambda self: main(self.words))
    assert main(words) == 0
    capfd.readouterr()
    assert main(words) == 0
    assert capfd.readouterr().out == "run has finished: nothing is left to train\n"


class ForkedChild(Forked):
    """subprocess.Popen for the child of a supervisor."""

    def __init__(self, command: list[str], *, env: dict[str, str], **_: Any) -> None:
        def work() -> int:
            os.environ |= env
            return main(command[2:])

        super().__init__(work=work)


@pytest.mark.run
def test_a_run_whose_process_is_killed_is_the_run_that_was_left_alone(tmp_path: Path, monkeypatch) -> None:
    """tests/stress/keep_alive.py kills at more moments, and more kinds of runs."""
    words = ["--algo=DQN", *SHORT[3:], "general_cfg.env_name=toy", "env_cfg.id=sleep", "env_cfg.seconds=0.01"]
    words += ["algo_cfg.learning_starts=32", "general_cfg.model_save_unit=step", "general_cfg.model_save_fre=50"]
    run = tmp_path / "run"
    monkeypatch.setattr(supervisor, "subprocess", SimpleNamespace(Popen=ForkedChild))
    process = Forked(*words, "--into", str(run), "--keep-alive")
    wait_for(lambda: reached(run) >= 1, process)
    [pid] = children_of(process.pid)
    os.kill(pid, signal.SIGKILL)
    assert process.wait() == 0, process.stderr
    assert process.stderr.count("it goes on from checkpoint") == 1
    assert main([*words, "--into", str(tmp_path / "alone")]) == 0
    for name in ("results/train.csv", "results/eval.csv", "results/progress.csv", "models/best/state.safetensors"):
        assert (run / name).read_bytes() == (tmp_path / "alone" / name).read_bytes(), name


def test_the_supervisor_says_nothing_while_a_child_works(child, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    """Where stages are shown, what is done outside of all of them counts as loading the program."""
    monkeypatch.setattr(stages, "SAID_AFTER", 0.0)
    with stages.shown():
        child("import time; time.sleep(1.5)")
    assert "loading" not in capfd.readouterr().err
