"""--seeds: one run per seed, each in a process and a task directory of its own, and what they say together."""

import csv
import io
import json
import os
import re
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import joystick
from config import machine
from config.config import GeneralConfig
from config.program import PROGRAM
from config.read import arguments
from config.read.loader import ConfigError
from framework.archive import statistics, task_list
from framework.archive.curves import Curves
from framework.archive.groups import RunResult, curves_of, result
from framework.archive.run import RecordedRun
from framework.assemble import resources
from framework.disk.csv_table import last_row
from framework.disk.facts import Circumstances
from framework.disk.task_dir import TaskDir, is_locked, read_facts
from framework.jobs import group, job, results
from framework.jobs.children import Child
from framework.jobs.processes import Processes, StageEnd
from framework.jobs.seeds import TrainedGroup
from framework.jobs.stages import Stage
from framework.pages import figures, group_page
from framework.record.console import Console
from framework.runs.signals import StopSignals
from framework.screen import tables
from framework.screen.stages import stage
from framework.screen.terminal import Screen
from framework.seeding import number
from main import main
from tests.tools.charts import charts, kinds, lines, scripts
from tests.tools.process import Forked, forked, forking, wait_for
from tests.tools.tuning import run as run

__all__ = ["forking"]

TOY = ["general_cfg.env_name=toy", "env_cfg.id=shifted", "general_cfg.algo_name=QLearning"]
LIMITS = ["general_cfg.max_episode=-1", "general_cfg.max_total_step=200"]
AGENTS = ["--env", "levels", "--algo", "PPO", "policies_cfg.all.agents=*"]
GIVEN = ["--algo", "BC", "--env", "CartPole-v1", "general_cfg.preset=null"]
QUICK = [*TOY, *LIMITS, "general_cfg.online_eval=true", "general_cfg.model_save_fre=50", "general_cfg.preset=null"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def the_group() -> Path:
    (folder,) = Path("tasks").glob("Seeds_*")
    return folder


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "seeds.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ------------------------------------------------------------------------------------------------- statistics


def test_the_interquartile_mean_drops_a_quarter_at_each_end_with_parts_of_values() -> None:
    """n/4 values fall away at each end: 1 of 4; of 5 one and a quarter of the next; of 3 three quarters of one."""
    iqm = statistics.interquartile_mean
    assert iqm(np.array([100.0, 2.0, 3.0, -50.0])) == 2.5
    assert iqm(np.array([0.0, 1.0, 2.0, 4.0, 90.0])) == pytest.approx((0.75 * 1 + 2 + 0.75 * 4) / 2.5)
    assert iqm(np.array([0.0, 1.0, 5.0])) == pytest.approx((0.25 * 0 + 1 + 0.25 * 5) / 1.5)
    assert iqm(np.array([0.0, 1.0])) == 0.5
    assert iqm(np.array([7.0])) == 7.0
    assert np.array_equal(iqm(np.array([[1.0, 1.0], [0.0, 4.0]])), [1.0, 2.0])
    assert iqm(np.array([106.15] * 3)) == 106.15, "an interval of it and one of the mean end at the same number"


def test_the_interval_leaves_two_and_a_half_percent_on_each_side() -> None:
    """Of two values 0 and 1 the mean of a sample is 0 or 1 with probability 1/4 each: both ends lie inside. Of 0 and
    nine 1s, a sample holds k ~ Binomial(10, 1/10) zeros; P(k >= 4) = 0.013 < 0.025 < P(k >= 3) = 0.07: the low end
    is 1 - 3/10."""
    assert statistics.interval(np.array([0.0, 1.0]), statistics.mean) == (0.0, 1.0)
    assert statistics.interval(np.array([0.0] + [1.0] * 9), statistics.mean) == pytest.approx((0.7, 1.0))
    assert statistics.interval(np.array([3.0, 3.0, 3.0]), statistics.interquartile_mean) == (3.0, 3.0)
    assert statistics.interval(np.array([3.0]), statistics.mean) is None
    values = np.random.default_rng(1).normal(size=7)
    again = [statistics.interval(values, statistics.interquartile_mean) for _ in range(2)]
    assert again[0] == again[1], "the same runs have the same interval"


# ----------------------------------------------------------------------------------------------- command line


@pytest.mark.parametrize(
    ("text", "expected"), [("1..5", (1, 2, 3, 4, 5)), ("1,2,7", (1, 2, 7)), ("1..3, 7", (1, 2, 3, 7)), ("4", (4,))]
)
def test_seeds_are_a_range_a_list_or_both(text: str, expected: tuple[int, ...]) -> None:
    assert arguments.seeds(text) == expected


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--seeds", "5..1"], "empty range 5..1: use 1..5"),
        (["--seeds", "0"], "a seed is a number from 1 to 2**63 - 1"),
        (["--seeds", "0..2"], "a seed is a number from 1"),
        (["--seeds", str(2**63)], "a seed is a number from 1"),
        (["--seeds", "1,2,1"], "1 is listed twice"),
        (["--seeds", "1..3,2"], "2 is listed twice"),
        (["--seeds", "-1..2"], "invalid seed '-1..2': use 1..5"),
        (["--seeds", "--dry-run"], "--seeds: expected one argument"),
        (["--seeds", "a"], "invalid seed 'a': use 1..5, or a list such as 1,2,7"),
        (["--seeds", ""], "invalid seed ''"),
        (["--seeds", "1.."], "invalid seed '1..'"),
        (["--seeds", "1...3"], "invalid seed '1...3'"),
        (["--seeds", "1.5"], "invalid seed '1.5'"),
        (["--seeds", "²"], "invalid seed '²'"),
        (["--seeds", "1..9999999999"], "1..9999999999 is more than 1000 runs"),
        (["--seed", "1..5"], "did you mean --seeds?"),
        (["--seeds", "1..2", "general_cfg.seed=3"], "--seeds and general_cfg.seed both set the seed"),
        (["--seeds", "1..2", "--resume", "x"], "--seeds starts others; leave --seeds out, or train further"),
        (["--seeds", "1..2", "--jobs", "0"], "invalid number '0': use a whole number, 1 or more"),
        (["--jobs", "2"], "it needs --seeds"),
        (["--resume", "x", "--into", "y"], "leave out --into"),
        (["--seeds", "1..2", "algo_cfg.lr=fast"], "algo_cfg.lr"),
        (["--seeds", "1..2", "env_cfg.id=Pendulum-v1"], "DQN needs actions that are Discrete"),
        (["--seeds", "1..2", "general_cfg.device=cuda:7"], "finds no CUDA device"),
        (["--seeds", "1..2", "algo_cfg.buffer_size=100000000000"], "choose a smaller algo_cfg.buffer_size"),
        (["--seeds", "1..2", "--into", "taken"], "taken exists; --into names a new folder"),
        (["--seeds", "1..2", "general_cfg.start_from=gone"], "general_cfg.start_from: 'gone' does not exist"),
        (["--seeds", "1..2", *AGENTS, "policies_cfg.all.load=gone"], "policies_cfg.all.load: 'gone' does not exist"),
        (["--seeds", "1..2", "--algo", "DAgger", "algo_cfg.expert=gone"], "algo_cfg.expert: 'gone' does not exist"),
        (["--seeds", "1..2", *GIVEN, "algo_cfg.data=taken/one.npz"], "algo_cfg.data: obs has the shape (2,)"),
    ],
)
def test_a_wrong_word_is_one_clear_answer_and_nothing_is_created(
    words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("taken").mkdir()
    ends = np.array([False, True])
    np.savez("taken/one.npz", observations=np.zeros((2, 2)), actions=[0, 1], rewards=[0.0, 1.0], terminals=ends)
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert answer in err
    assert out == ""
    assert [path.name for path in Path().iterdir()] == ["taken"]


def test_a_test_or_a_loaded_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("old/models").mkdir(parents=True)
    Path("old/config.yaml").write_text("general_cfg: {algo_name: DQN}\n")
    load = ["general_cfg.load_checkpoint=true", f"general_cfg.load_path={Path('old').resolve()}"]
    assert run("--seeds", "1..2", "general_cfg.mode=test", *load) == 2
    assert "command line: general_cfg.mode: a group of runs trains" in capsys.readouterr().err
    assert run("--seeds", "1..2", *load) == 2
    assert (
        "command line: general_cfg.load_checkpoint: a group of runs starts every run from the beginning"
        in capsys.readouterr().err
    )
    with pytest.raises(ConfigError, match=r"^Python: general_cfg\.load_checkpoint: a group of runs starts"):
        joystick.train(
            "DQN", "CartPole-v1", general_cfg={"load_checkpoint": True, "load_path": str(Path("old").resolve())}
        )
    assert not Path("tasks").exists()


def test_looking_shows_the_first_of_the_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for look in ("--print-config", "--dry-run"):
        assert run("--seeds", "3..5", look, *QUICK) == 0
        out, err = capsys.readouterr()
        assert re.search(r"^  (seed: |general_cfg.seed +)3 ", out, re.MULTILINE)
        assert "--seeds: 3 runs; this is the one with seed 3" in err
    assert list(Path().iterdir()) == []


# ------------------------------------------------------------------------------------------------ whole groups


@pytest.mark.usefixtures("forking")
def test_every_seed_is_a_whole_run_and_equals_one_that_was_trained_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 2)
    Path("my.yaml").write_text("general_cfg: {seed: 9}\n")  # the command line comes after the file
    assert run("--yaml", "my.yaml", "--seeds", "1,3,2", *QUICK) == 0
    said = capsys.readouterr().out
    folder = the_group()
    assert f"3 runs, 2 at once: {folder}" in said
    files = {".lock", "config.yaml", "group.json", "seeds.csv", "learning_curves.png", "report.html"}
    assert {path.name for path in folder.iterdir()} == files | {"seed_1", "seed_2", "seed_3"}
    assert Image.open(folder / "learning_curves.png").size == (1200, 690)

    table = rows(folder)
    assert [(row["seed"], row["status"], row["folder"]) for row in table] == [
        ("1", "0", "seed_1"), ("3", "0", "seed_3"), ("2", "0", "seed_2")
    ]  # fmt: skip
    assert run("general_cfg.seed=3", "--into", "alone", *QUICK) == 0
    for file in ("train.csv", "eval.csv"):
        assert (folder / "seed_3/results" / file).read_bytes() == (Path("alone/results") / file).read_bytes()
    last = last_row(Path("alone/results/eval.csv"))
    assert last is not None
    row = table[1]
    assert (float(row["mean"]), float(row["max"]), int(row["episodes"])) == (last["mean"], last["max"], 10)
    assert (int(row["step"]), float(row["best"])) == (200, json.loads(Path("alone/run.json").read_text())["best"])

    facts = json.loads((folder / "group.json").read_text())
    means = np.array([float(row["mean"]) for row in table])
    assert (facts["seeds"], facts["at_once"], facts["finished"]) == ([1, 3, 2], 2, 3)
    assert facts["mean"] == means.mean()
    assert facts["interquartile_mean"] == statistics.interquartile_mean(means)
    for line in (
        "interquartile mean",
        "(last evaluations of 3 of 3 runs, 10 episodes each)",
        "learning_curves.png",
        "seeds.csv",
        f"report   {folder / 'report.html'}",
    ):
        assert line in said
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall('<td><a href="(.*?)">(.*?)</a></td><td>finished</td>', page) == [
        (f"seed_{n}/report.html", f"seed {n}") for n in (1, 3, 2)
    ]
    assert f'<a href="../report.html">{folder.name}</a>' in (folder / "seed_3/report.html").read_text(encoding="utf-8")

    assert run("--resume", str(folder / "seed_3"), "general_cfg.max_total_step=300") == 0
    test = ["general_cfg.mode=test", "general_cfg.load_checkpoint=true", f"general_cfg.load_path={folder}/seed_2"]
    assert run(*test, "--into", "tested") == 0
    assert Path("tested/results/test.csv").is_file()
    capsys.readouterr()
    assert run("--resume", folder.name) == 2
    assert (
        f"all of its runs have finished; to train them further, give a higher limit: {PROGRAM} resume {folder.name} "
        in capsys.readouterr().err
    )


MINE = """
import os, signal, sys, time
import gymnasium
from gymnasium.spaces import Discrete

class Picky(gymnasium.Env):
    observation_space, action_space = Discrete(2), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seed, self.left = seed, 6
        return 0, {}

    def step(self, action):
        self.left -= 1
        time.sleep(PAUSE if self.seed else 0)  # the probe of a new environment has seed 0
        if self.seed == RAISES:
            raise RuntimeError("this start is not for me")
        if self.seed == DIES:
            print("warning: not the reason", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return 1, float(action), self.left == 0, False, {}

gymnasium.register("Picky-v0", Picky)
"""
PICKY = [
    "--allow-import", "mine", "env_cfg.id=mine:Picky-v0", "general_cfg.algo_name=QLearning",
    "general_cfg.save_fig=false", "general_cfg.preset=null",
]  # fmt: skip


def write_picky(**settings: float) -> None:
    """An environment in a module of the user's own."""
    settings = {"PAUSE": 0, "RAISES": -1, "DIES": -1, **settings}
    Path("mine.py").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()) + MINE)


@pytest.mark.usefixtures("forking")
def test_the_end_of_a_group_repeats_what_its_runs_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    """Each run alone says so, and nobody reads the output of the runs of a group."""
    words = [*QUICK, "general_cfg.algo_name=DQN", "algo_cfg.learning_starts=500", "general_cfg.save_fig=false"]
    assert run("--seeds", "1..2", *words, "--into", "few") == 0
    said = capsys.readouterr().out
    assert said.count("nothing was learned") == 1
    assert "warning: seed 1, seed 2: nothing was learned: 0 updates; learning_starts is 500 steps" in said
    poor = [n for n in (1, 2) if read_facts(Path(f"few/seed_{n}/run.json"))["worse_than_random"]]
    labels = ", ".join(f"seed {n}" for n in poor)
    assert (f"warning: {labels}: not above the random policy; what to do: docs/" in said) == bool(poor)
    assert run("resume", "few", "general_cfg.max_total_step=250") == 0
    said = capsys.readouterr().out
    assert said.count("warning: seed 1, seed 2: nothing was learned") == 1  # of this session
    facts = read_facts(Path("few/group.json"))
    sizes = {name: Path(f"few/{name}/logs/log.txt").stat().st_size for name in ("seed_1", "seed_2")}
    assert facts["told"] == sizes
    del facts["seconds"]
    Path("few/group.json").write_text(json.dumps(facts))  # as if it had been killed while it wrote its tables
    assert run("resume", "few") == 0
    assert "warning" not in capsys.readouterr().out
    words = [word for word in words if "algo_name" not in word]
    assert run("--algo", "DQN,DoubleDQN", "--seeds", "1,2", *words, "--into", "both") == 0
    names = "DQN, seed 1; DQN, seed 2; DoubleDQN, seed 1; DoubleDQN, seed 2"
    assert f"warning: {names}: nothing was learned" in capsys.readouterr().out


@pytest.mark.usefixtures("forking")
def test_a_run_that_fails_is_told_and_the_others_go_on() -> None:
    """One seed's first training episode raises, another's kills the process; --allow-import reaches the runs."""
    write_picky(RAISES=number(2, "episode", 0, 0, 0), DIES=number(3, "episode", 0, 0, 0))
    process = forked(*PICKY, "--seeds", "1..3", "general_cfg.max_total_step=60")
    out = process.stdout
    assert process.returncode == group.FAILED, process.stderr
    folder = the_group()
    assert [row["status"] for row in rows(folder)] == ["0", "2", "137"]
    assert "warning: seed 2 failed with status 2: error: mine:Picky-v0 failed in step 1 of row 0: RuntimeError" in out
    assert "warning: seed 3 failed with status 137: killed, perhaps because memory ran out" in out
    assert "this start is not for me" in (folder / "seed_2.errors.txt").read_text()
    assert not (folder / "seed_1.errors.txt").exists()
    assert "(last evaluations of 1 of 3 runs, 10 episodes each)" in out
    assert "95 %" not in out, "one run says nothing of the spread"
    assert f"python main.py --allow-import mine resume {folder / 'seed_2'}" in out
    page = (folder / "report.html").read_text(encoding="utf-8")
    why = "mine:Picky-v0 failed in step 1 of row 0: RuntimeError: this start is not for me"
    assert f"<td>failed (status 2): error: {why}" in page
    assert "<td>failed (status 137): killed, perhaps because memory ran out</td>" in page
    assert f"  {why}" in task_list.listing("seed_2")
    assert [one["reason"][: len(why)] for one in json.loads(task_list.as_json("seed_2"))] == [why]


@pytest.mark.usefixtures("forking")
def test_a_signal_reaches_every_run_and_each_can_be_gone_on_with() -> None:
    """OSX-1: sent to the whole process group, as by a terminal. The runs save, those that wait are not begun, and no
    process is left."""
    write_picky(PAUSE=0.01)
    words = ["general_cfg.max_total_step=100000", "general_cfg.model_save_fre=20", "general_cfg.max_episode=-1"]
    process = Forked(*PICKY, "--seeds", "1..3", "--jobs", "2", *words, new_session=True)
    wait_for(lambda: all(list(Path("tasks").glob(f"*/seed_{n}/models/[0-9]*/manifest.json")) for n in (1, 2)), process)
    children = children_of(process.pid)
    assert len(children) == 2
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() == 130, process.stderr
    out = process.stdout
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    folder = the_group()
    assert [row["status"] for row in rows(folder)] == ["143", "143", ""], "they are sent SIGTERM"
    assert len(re.findall(r"resume seed \d  python main.py --allow-import mine resume", out)) == 2
    begin = f"--yaml {folder}/config.yaml --into {folder}/seed_3 general_cfg.seed=3"
    assert f"start seed 3   python main.py --allow-import mine {begin}" in out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (page.count("<td>stopped</td>"), page.count("<td>not started</td>")) == (2, 1)
    assert page.count("<pre class=command>python main.py --allow-import mine resume ") == 3, "both, and the group"
    assert f"<p>Start seed 3</p><pre class=command>python main.py --allow-import mine {begin}</pre>" in page
    assert "while runs trained" not in page
    assert not list(folder.glob("*.errors.txt"))
    done = json.loads((folder / "seed_1/run.json").read_text())["step"]
    write_picky()
    assert run(*PICKY[:2], "--resume", str(folder / "seed_1"), f"general_cfg.max_total_step={done + 60}") == 0
    assert run(*PICKY[:2], *begin.split(), "general_cfg.max_total_step=60") == 0


@pytest.mark.usefixtures("forking")
def test_a_group_of_which_one_run_was_stopped_has_not_come_to_its_end() -> None:
    write_picky(PAUSE=0.01)
    process = Forked(*PICKY, "--seeds", "1..2", "--jobs", "2", "general_cfg.max_total_step=600")
    wait_for(lambda: len(children_of(process.pid)) == 2, process)
    wait_for(lambda: len(list(Path("tasks").glob("*/seed_*/results/train.csv"))) == 2, process)
    os.kill(children_of(process.pid)[0], signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM, process.stderr
    assert sorted(row["status"] for row in rows(the_group())) == ["0", "143"]
    assert f"to go on       python main.py --allow-import mine resume {the_group()}" in process.stdout


def test_a_closed_terminal_stops_a_run_that_nohup_did_not_ask_to_outlive_it() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
        assert stop.received is None
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with StopSignals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
        assert (stop.received, stop.exit_status) == (signal.SIGHUP, 129)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_ctrl_c_is_passed_on_as_another_signal_since_the_runs_may_have_got_it_themselves(tmp_path: Path) -> None:
    """As by `pkill -INT`: a second SIGINT would end them before they have saved."""
    sent: list[int] = []
    runner, one = Processes(1), Stage("1", "seed 1", tmp_path / "config.yaml", tmp_path / "seed_1")
    runner._children[one] = Child(one.errors, SimpleNamespace(send_signal=sent.append))  # type: ignore[arg-type]
    runner.stop(signal.SIGINT)
    runner.stop(signal.SIGINT)
    assert sent == [signal.SIGTERM]


def test_a_second_signal_ends_everything_at_once() -> None:
    write_picky(PAUSE=20)
    process = Forked(*PICKY, "--seeds", "1..2", "--jobs", "2", "general_cfg.online_eval_episode=1", new_session=True)
    wait_for(lambda: len(list(Path("tasks").glob("*/seed_*/run.json"))) == 2, process)
    time.sleep(0.5)
    children = children_of(process.pid)
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(15) == 130, "a step of the environment takes 20 s"
    wait_for(lambda: not any(alive(child) for child in children), seconds=15)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.usefixtures("forking")
def test_a_run_that_outlived_its_group_is_neither_called_unstarted_nor_to_be_resumed() -> None:
    """The group alone was killed; its run goes on, and is watched and left by the next session."""
    write_picky(PAUSE=0.01)
    words = ["general_cfg.max_total_step=100000", "general_cfg.model_save_fre=20", "general_cfg.max_episode=-1"]
    process = Forked(*PICKY, "--seeds", "1..2", "--jobs", "1", *words, new_session=True)
    wait_for(lambda: list(Path("tasks").glob("*/seed_1/models/[0-9]*/manifest.json")), process)
    [child] = children_of(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    folder = the_group()
    again = Forked("--allow-import", "mine", "resume", str(folder), new_session=True)
    try:
        wait_for(lambda: list(folder.glob("seed_2/models/[0-9]*/manifest.json")), again)
        os.kill(again.pid, signal.SIGINT)
        assert again.wait() == 130, again.stderr
        assert alive(child)
        said = [again.stdout, repr(TrainedGroup(folder))]
    finally:
        os.kill(child, signal.SIGINT)
    assert all(re.search(r"^ *1 .* running$", text, re.MULTILINE) for text in said)
    assert not any("not started" in text for text in said)
    assert "seed 1 is still trained by another process, and goes on" in again.stdout
    assert "resume seed 1" not in again.stdout
    assert "resume seed 2" in again.stdout
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (page.count("<td>running</td>"), page.count("<td>not started</td>")) == (1, 0)
    wait_for(lambda: not is_locked(folder / "seed_1"))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -------------------------------------------------------------------------------------------- what is shown


def test_the_table_names_what_failed_and_leaves_it_out_of_the_means() -> None:
    good = [RunResult(n, float(n), 1.0, 0.0, 9.0, 10, 50.0, 12345, 9, 65.0, 0, f"seed_{n}") for n in (1, 2)]
    bad = RunResult(3, 99.0, 0.0, 99.0, 99.0, 10, 99.0, None, None, 3.0, 2, "seed_3")
    none = RunResult(4, None, None, None, None, None, None, None, None, None, None, "seed_4")
    assert results.table_of_runs([*good, bad, none]) == [
        "",
        "seed  mean ± std  min  max  best   steps  time       status",
        "   1       1 ± 1    0    9    50  12,345  1:05     finished",
        "   2       2 ± 1    0    9    50  12,345  1:05     finished",
        "   3      99 ± 0   99   99    99          0:03     status 2",
        "   4                                            not started",
        "",
        "mean                     1.5   lowest to highest 1 to 2",
        "interquartile mean       1.5   lowest to highest 1 to 2",
        "(last evaluations of 2 of 4 runs, 10 episodes each)",
        "",
    ]
    assert "no run finished with an evaluation" in results.table_of_runs([bad, none])
    unbegun = results.table_of_runs([one._replace(step=0, update=0) for one in good])
    assert unbegun[1].split()[-3:] == ["steps", "time", "status"]
    from_data = results.table_of_runs([one._replace(step=0, update=9000) for one in good])
    assert "updates" in from_data[1].split()
    assert "9,000" in from_data[2].split()
    assert results.sentence(good[0]._replace(step=0, update=9000)) == "1 ± 1, 9,000 updates in 1:05"


@pytest.mark.parametrize(
    ("seed", "mean", "left_out"),
    [
        (5, -123.4, []),
        (5, -12345.6, ["min", "max"]),
        (2**63 - 1, -123.4, ["min", "max"]),
        (2**63 - 1, -12345.6, ["min", "max"]),
    ],
)
def test_the_table_fits_80_columns(seed: int, mean: float, left_out: list[str]) -> None:
    """What does not fit is left out; seeds.csv has it."""
    one = RunResult(seed, mean, abs(mean), mean * 9, -mean * 9, 10, mean, 10_000_000, 9, 36_000.0, 137, "x")
    lines = results.table_of_runs([one, one])
    assert max(map(len, lines)) <= 80
    assert not set(left_out) & set(lines[1].split())
    assert {"seed", "best", "status"} <= set(lines[1].split())


def test_the_mean_is_drawn_where_all_runs_have_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From step 10 to step 20: the runs 0, 1, ... along 5..20 and twice that along 10..40 have means known by hand."""
    drawn = {}
    monkeypatch.setattr(figures, "dress", lambda axes, *words: drawn.update(axes=axes))
    curves = [(np.array([5.0, 20.0]), np.array([5.0, 20.0])), (np.array([10.0, 40.0]), np.array([20.0, 80.0]))]
    figures.seed_curves(curves, tmp_path / "a.png", title="t", quantity="return", seeds=[1, 2])
    assert [text.get_text() for text in drawn["axes"].texts] == ["seed 1", "seed 2"]
    line = next(line for line in drawn["axes"].lines if line.get_label() == "mean")
    x, y = line.get_data()
    assert (x[0], x[-1]) == (10.0, 20.0)
    np.testing.assert_allclose(y, (x + 2 * x) / 2)
    apart = [(np.array([1.0, 2.0]), np.zeros(2)), (np.array([3.0, 4.0]), np.zeros(2))]
    figures.seed_curves(apart, tmp_path / "b.png", title="t", quantity="return")
    assert "mean" not in [line.get_label() for line in drawn["axes"].lines]


def test_curves_are_evaluations_where_every_run_has_them_and_episodes_elsewhere(tmp_path: Path) -> None:
    for seed in (1, 2):
        results = tmp_path / f"seed_{seed}" / "results"
        results.mkdir(parents=True)
        (results / "train.csv").write_text("step,return\n1,0\n2,4\n")
        (results / "eval.csv").write_text("update,step,mean\n1,10,1.5\n2,20,2.5\n")

    def curves(evaluated: bool) -> Curves:
        return curves_of({f"seed {seed}": RecordedRun(tmp_path / f"seed_{seed}") for seed in (1, 2, 3)}, evaluated)

    lines, what, over = curves(evaluated=True)
    assert {name: value.tolist() for name, (_, value) in lines.items()} == {"seed 1": [1.5, 2.5], "seed 2": [1.5, 2.5]}
    assert (what, over) == ("evaluation return", "environment steps")
    lines = curves(evaluated=False).lines
    assert [value.tolist() for _, value in lines.values()] == [[0.0, 4.0]] * 2
    (tmp_path / "seed_2/results/eval.csv").write_text("update,step,mean\n1,10,1.5\n")
    assert curves(evaluated=True).quantity.startswith("episode return")


def test_curves_of_episodes_that_end_together_have_a_point_for_each_end(tmp_path: Path) -> None:
    """Eight rows, 40 episodes, returns 0 to 7 at each of five ends; a window of five holds one end as a whole."""
    (tmp_path / "results").mkdir()
    rows = [f"{200 * (n // 8 + 1)},{n % 8 + n // 8}\n" for n in range(40)]
    (tmp_path / "results/train.csv").write_text("step,return\n" + "".join(rows))
    for whole in (False, True):
        [(step, mean)] = curves_of({"a": RecordedRun(tmp_path)}, False, whole_windows=whole).lines.values()
        assert (step.tolist(), mean.tolist()) == ([200, 400, 600, 800, 1000], [3.5, 4.5, 5.5, 6.5, 7.5])


def test_the_beginning_of_a_running_mean_is_left_out_if_only_whole_windows_count(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results/train.csv").write_text("step,return\n" + "".join(f"{n},{n}\n" for n in range(1, 31)))
    [(step, mean)] = curves_of({"a": RecordedRun(tmp_path)}, False, whole_windows=True).lines.values()
    assert (step[0], mean[0], len(step)) == (5, 3, 26)


def test_curves_are_over_updates_if_a_run_learned_before_its_first_step(tmp_path: Path) -> None:
    for name, rows in {"bc": "5,0,1\n9,0,2\n", "dqn": "2,10,3\n4,20,4\n"}.items():
        (tmp_path / name / "results").mkdir(parents=True)
        (tmp_path / name / "results/eval.csv").write_text("update,step,mean\n" + rows)
    lines, _, over = curves_of({name: RecordedRun(tmp_path / name) for name in ("bc", "dqn")}, evaluated=True)
    assert over == "updates"
    assert {name: step.tolist() for name, (step, _) in lines.items()} == {"bc": [5, 9], "dqn": [2, 4]}


def test_a_comparison_has_a_line_and_an_interval_for_each_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = {}
    shown = figures.dress
    monkeypatch.setattr(figures, "dress", lambda axes, *words: drawn.update(axes=axes) or shown(axes, *words))
    one, two = (np.array([0.0, 10.0]), np.array([0.0, 2.0])), (np.array([0.0, 10.0]), np.array([2.0, 4.0]))
    figures.comparison(
        {"BC": [one, two], "IQL": [one]}, tmp_path / "a.png", title="t", quantity="return", over="updates"
    )
    lines = {line.get_label(): line.get_data() for line in drawn["axes"].lines}
    assert (lines["BC"][1][0], lines["BC"][1][-1]) == (1.0, 3.0)
    assert lines["IQL"][1].tolist() == [0.0, 2.0]
    assert len(drawn["axes"].collections) == 1
    assert drawn["axes"].get_xlabel() == "updates"


def test_a_run_of_a_single_score_is_a_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(figures, "_save", lambda figure, path, width: drawn.append(figure.axes[0]))
    line, dot = (np.array([0.0, 10.0]), np.array([0.0, 2.0])), (np.array([10.0]), np.array([1.0]))
    figures.comparison({"A": [line], "B": [dot]}, tmp_path / "a.png", title="t", quantity="return", over="steps")
    assert [line.get_marker() for line in drawn[0].lines] == ["", "o"]


def a_group(*returns: float, experiments: dict[str, list[int]] | None = None, **changes: Any) -> group_page.Group:
    """What a page shows of finished runs, with curves that rise from 0 to these returns."""
    runs = [
        group_page.Member(
            f"seed {n}", "finished", RunResult(n, value, 0.5, 0, 9, 20, value, 100, 9, 65.0, 0, f"seed_{n}")
        )
        for n, value in enumerate(returns, start=1)
    ]
    lines = {run.result.folder: (np.array([0.0, 100.0]), np.array([0.0, run.result.mean or 0.0])) for run in runs}
    values: dict[str, Any] = {
        "title": "DQN on X, some seeds", "runs": runs, "curves": Curves(lines, "return"),
        "experiments": {name: [runs[n - 1].result for n in ones] for name, ones in (experiments or {}).items()},
        "levels": {"expected": 8.0, "random policy": None}, "settings": {"config.yaml": {"algo_cfg": {"lr": 0.5}}},
        "commands": [("Resume", "python main.py resume a")], "begun": Circumstances(), "seconds": 61.0, "drawn": "",
    }  # fmt: skip
    return group_page.Group(**(values | changes))


@pytest.mark.parametrize(("returns", "called"), [((1.0, 3.0), "lowest to highest"), ((1.0, 2, 3), "95 % interval")])
def test_the_page_of_a_group_has_its_mean_and_what_its_band_is(
    tmp_path: Path, returns: tuple[float, ...], called: str
) -> None:
    page = group_page.write(tmp_path, a_group(*returns)).read_text(encoding="utf-8")
    cards = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert cards["mean of the seeds"] == "2"
    assert cards[called] == "1 to 3"
    assert (cards["finished"], cards["expected"]) == (f"{len(returns)} of {len(returns)}", "8")
    assert (kinds(page).count("pale"), kinds(page).count("first")) == (len(returns), 1)
    assert [line["kind"] for line in lines(page) if "low" in line] == ["first"]
    assert ("95 %" in page) == (len(returns) > 2)
    assert called in page[page.index("Thick: the mean") :]
    assert "Dashed: expected 8." in page
    assert re.findall("<h2>(.*?)</h2>", page)[:3] == ["Learning curves", "Runs", "Commands"]


def test_the_page_of_experiments_has_a_mean_for_each_and_no_common_one(tmp_path: Path) -> None:
    files = {"a.yaml": {"algo_cfg": {"lr": 0.5}}, "b.yaml": {"algo_cfg": {"lr": 0.25}}}
    shown = a_group(1, 3, 5, experiments={"A": [1, 2], "B <b>": [3]}, settings=files)
    page = group_page.write(tmp_path, shown).read_text(encoding="utf-8")
    assert "mean of the seeds</dt>" not in page
    assert "<td>A</td><td class=n>2</td><td class=n>2</td><td class=n>1 to 3</td><td>lowest to highest</td>" in page
    assert page.count("B &lt;b&gt;") == 1
    assert {line["series"] for line in lines(page)} == {"A", "B <b>"}
    assert re.findall("<summary>(.*?)</summary>", page) == [
        "a.yaml",
        "All settings (1)",
        "b.yaml",
        "All settings (1)",
    ]
    different = group_page.write(tmp_path, shown._replace(curves=None, levels={})).read_text(encoding="utf-8")
    assert charts(different) == [], "runs in different environments have no common axis"


def test_the_page_of_a_group_that_has_begun_is_a_page_too(tmp_path: Path) -> None:
    none = RunResult(1, None, None, None, None, None, None, None, None, None, None, "seed_1")
    shown = a_group(1.0, runs=[group_page.Member("seed 1", "waiting", none)], drawn="10:15", curves=None)
    page = group_page.write(tmp_path, shown).read_text(encoding="utf-8")
    assert "As it stood at 10:15" in page
    assert "<td>seed 1</td><td>waiting</td>" in page


def test_names_on_the_page_of_a_group_are_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'&"
    shown = a_group(
        1, 2, title=evil, levels={evil: 1.0}, settings={evil: {evil: {evil: evil}}}, begun=Circumstances(cpu=evil)
    )
    shown = shown._replace(commands=[(evil, evil)], runs=[run._replace(label=evil, state=evil) for run in shown.runs])
    page = group_page.write(tmp_path, shown).read_text(encoding="utf-8")
    assert page.count("<script") == 2, "ours, and the numbers"
    assert len(scripts(page)) == 1
    assert "default-src 'none'" in page


@pytest.mark.parametrize(("seeds", "names"), [(2, {"lowest to highest"}), (3, {"95 % interval of the mean"})])
def test_the_band_of_a_figure_is_called_an_interval_from_three_seeds_on(
    seeds: int, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(figures, "_save", lambda figure, path, width: drawn.append(figure.axes[0]))
    curves = [(np.array([0.0, 10.0]), np.array([0.0, n])) for n in range(seeds)]
    figures.seed_curves(curves, tmp_path / "a.png", title="t", quantity="return")
    assert {band.get_label() for band in drawn[0].collections} == names
    figures.comparison({"A": curves}, tmp_path / "a.png", title="t", quantity="return", over="steps")
    said = names.pop().removesuffix(" of the mean")
    assert drawn[1].get_title(loc="right") == f"mean of {seeds} seeds, {said}"


class OneRun(job.Job):
    """A job of one run."""

    def __init__(self, folder: Path, cfg: GeneralConfig) -> None:
        super().__init__(folder, Processes(1), Screen())
        self.cfg, self.stage = cfg, Stage("seed_1", "seed 1", folder / "config.yaml", folder / "seed_1")

    def look_at(self) -> tuple[float, str]:
        """Its share and its words while it runs."""
        return self.progress(self.stage, running=True)

    def over(self, stage: Stage) -> bool:
        return self.turns[stage].end is not None

    def general(self, stage: Stage) -> GeneralConfig:
        return self.cfg

    def ended(self, end: StageEnd) -> None: ...

    def refresh(self) -> None: ...

    def run(self, stop: StopSignals) -> None: ...

    def finish(self, stop: StopSignals) -> int:
        return 0


def test_what_is_left_is_estimated_by_what_this_session_has_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Half of a run that goes on is there at once, as if it had taken no time."""
    monkeypatch.setattr(job, "POLL_SECONDS", 0.0)
    one, task = OneRun(tmp_path, GeneralConfig(max_episode=-1, max_total_step=200)), TaskDir(tmp_path / "seed_1")
    task.results.mkdir(parents=True)
    (task.results / "train.csv").write_text("episode,step,update,return\n1,100,30,2.0\n")
    heads: list[str] = []
    running = [one.stage]
    one.runner = SimpleNamespace(free=0, running=running, poll=list)  # type: ignore[assignment]
    one.screen.draw = lambda share, head, rows: (heads.append(head), running.clear())  # type: ignore[method-assign]
    with pytest.raises(job.Waiting):
        one.complete([one.stage], "ended", SimpleNamespace(received=None))  # type: ignore[arg-type]
    assert heads == ["0 of 1 run ended, 0:00 so far"]
    assert one.progress(one.stage, running=False) == (0.5, "waiting")


def test_a_job_that_is_asked_to_stop_while_it_reports_names_its_files(tmp_path: Path) -> None:
    class Reports(OneRun):
        def finish(self, stop: StopSignals) -> int:
            os.kill(os.getpid(), signal.SIGTERM)
            return stop.exit_status

    assert Reports(tmp_path, GeneralConfig()).drive() == 128 + signal.SIGTERM


def test_what_learns_from_data_alone_is_shown_by_its_updates(tmp_path: Path) -> None:
    one, task = OneRun(tmp_path, GeneralConfig(max_episode=-1, max_update=4000)), TaskDir(tmp_path / "seed_1")
    task.results.mkdir(parents=True)
    (task.results / "train.csv").write_text("episode,step,update,return\n")
    (task.results / "result.json").write_text('{"iteration": 1, "step": 0, "episode": 0, "update": 1000}\n')
    assert one.look_at() == (0.25, " 25%   update 1,000")


def test_a_running_run_is_shown_by_what_it_has_written(tmp_path: Path) -> None:
    cfg = GeneralConfig(max_episode=-1, max_total_step=200)
    one, task = OneRun(tmp_path, cfg), TaskDir(tmp_path / "seed_1")
    assert one.progress(one.stage, running=False) == (0.0, "waiting")
    assert one.look_at() == (0.0, "starting")
    task.results.mkdir(parents=True)
    (task.results / "train.csv").write_text("episode,step,update,return\n1,40,30,2.0\n2,50,40,3.0\n3,6")
    (task.results / "eval.csv").write_text("mean,std\n7.25,0.5\n")
    assert one.look_at() == (0.25, " 25%   step 50   return 3   evaluation 7.25 ± 0.5")
    task.logs.mkdir()
    console = Console(task.logs / "log.txt", cfg, io.StringIO())
    with stage("evaluating the model of update 40", logged=True):
        said = " 25%   step 50   return 3   evaluation 7.25 ± 0.5   evaluating the model of update 40"
        assert one.look_at() == (0.25, said)
    console.note("evaluation: 8")
    assert one.look_at() == (0.25, " 25%   step 50   return 3   evaluation 7.25 ± 0.5")
    (task.results / "train.csv").write_text("episode,step,update,return\n1,200,30,2.0\n")
    with stage("measuring the random policy", logged=True):
        end = "evaluation 7.25 ± 0.5   measuring the random policy"
        assert one.look_at() == (1.0, f"100%   step 200   return 2   {end}")
    console.close()
    one.turns[one.stage] = job.Turn(end=StageEnd(one.stage, 0), seconds=64.9)
    assert one.look_at() == (1.0, "ended in 1:05")
    one.turns[one.stage].end = StageEnd(one.stage, 130, stopped=True)
    assert one.look_at() == (1.0, "stopped after 1:05")
    [_, line] = tables.lines([results._cells(result(task, 1, 130, 64.9), "step")])
    assert line.split()[-1] == "stopped"


@pytest.mark.parametrize(("typed", "hint"), [("3", True), ("1", False), ("2..3", False), ("12345", False)])
def test_a_single_seed_that_may_be_meant_as_a_number_of_runs_gets_a_hint(
    typed: str, hint: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--algo", "PPO", "--env", "CartPole-v1", "--seeds", typed, "--print-config"]) == 0
    text = (
        f"--seeds {typed}: one run, with seed {typed}; for {typed} runs with different seeds write --seeds 1..{typed}\n"
    )
    err = capsys.readouterr().err
    assert (text in err) is hint
    assert ("this is the one with seed" in err) is (typed == "2..3")


def test_the_newest_row_is_found_at_the_end_of_a_long_file(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    assert last_row(path) is None
    path.write_text("a,b\n")
    assert last_row(path) is None
    path.write_text("a,b\n" + "".join(f"{n},{n / 2}\n" for n in range(5000)) + "5000,25")
    assert last_row(path) == {"a": 4999, "b": 2499.5}


def test_runs_that_need_much_memory_go_on_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three memories of a full run fit where free memory is three times as large and a half."""
    monkeypatch.setattr(machine, "cores", lambda: 8)
    monkeypatch.setattr(resources, "memory_bytes", lambda config, spec: 100 * 2**20)
    monkeypatch.setattr(machine, "available_bytes", lambda: 350 * 2**20)
    taken = []
    monkeypatch.setattr(group.Group, "complete", lambda self, *_: taken.append(self.at_once))
    assert run("--seeds", "1..5", *QUICK) == 0
    assert run("--seeds", "1..5", "--jobs", "2", *QUICK) == 0
    monkeypatch.setattr(machine, "cores", lambda: 1)
    assert run("--seeds", "1..5", *QUICK) == 0
    assert taken == [3, 2, 1]


def test_runs_of_many_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three workers and a learner each, on eight cores; and one run at a time where a single one has too few."""
    taken = []
    monkeypatch.setattr(group.Group, "complete", lambda self, *_: taken.append(self.at_once))
    for cores in (8, 2):
        monkeypatch.setattr(machine, "cores", lambda cores=cores: cores)
        assert run("--seeds", "1..5", *QUICK, "general_cfg.mp_backend=ray", "general_cfg.n_workers=3") == 0
    assert taken == [2, 1]
