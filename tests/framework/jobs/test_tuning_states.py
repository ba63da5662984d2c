"""While a tuning goes on, its files say of every trial what is true at that moment."""

import contextlib
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from config.read import tuning
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.disk.task_dir import take_lock
from framework.jobs import job
from framework.jobs.job import Waiting
from framework.jobs.processes import StageEnd
from framework.jobs.schedulers import Leg, Trial
from framework.jobs.stages import Stage
from framework.jobs.tuner import Tuner
from framework.jobs.tuning_plan import RunPlan
from framework.runs.signals import StopSignals
from framework.screen.terminal import Screen
from tests.tools.tuning import GENERAL, forking, run, table, written

__all__ = ["forking"]

FOUR = f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{grid: [0.1, 0.2, 0.3, 0.4]}}}}
"""


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)


class Still:
    """A runner whose stages neither train nor end until they are asked to stop."""

    def __init__(self) -> None:
        self.running: list[Stage] = []
        self.free = 1

    def start(self, stage: Stage) -> None:
        self.running.append(stage)
        self.free = 0

    def poll(self) -> list[StageEnd]:
        return []

    def stop(self, number: int) -> None:
        self.running.clear()

    def save(self, number: int) -> None: ...

    def end_at_once(self, number: int) -> None: ...

    def end_all(self) -> None: ...


def facts(task: Path, run: dict[str, Any], episodes: str = "", evaluations: str = "") -> None:
    """Writes what a run leaves."""
    (task / "results").mkdir(parents=True)
    (task / "run.json").write_text(json.dumps(run))
    (task / "results/train.csv").write_text("episode,step,update,return\n" + episodes)
    (task / "results/eval.csv").write_text("step,mean\n" + evaluations)


def four(more: str = "") -> Tuner:
    """A tuning of four trials: one has ended, one trains, one was interrupted, and one waits."""
    written(FOUR + more)
    options: dict[str, Any] = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": ()}
    plan = RunPlan(tuning.from_file("tune.yaml", (), {}, **options))
    plan.check(compatibility.check)
    folder = Path("x")
    folder.mkdir()
    work = Tuner(plan, folder, Still(), Screen())
    for place, settings in enumerate(plan.first):
        work.add(Trial(f"{place:03}", settings))
    facts(Path("x/trials/000"), {"finished": True, "step": 60, "seconds": 3}, "1,60,9,5.0\n", "60,7.5\n")
    facts(Path("x/trials/001"), {}, "1,10,0,1.0\n2,20,0,2.0\n")
    facts(Path("x/trials/002"), {"outcome": "interrupted", "step": 30}, "1,30,0,3.0\n")
    return work


class Stop(StopSignals):
    """A signal that comes once the page has been written."""

    def __init__(self, work: Tuner) -> None:
        self.work = work

    @property  # type: ignore[override]
    def received(self) -> int | None:
        return signal.SIGINT if (self.work.folder / "report.html").exists() else None


def test_states_scores_steps_and_returns_are_those_of_the_moment() -> None:
    work = four()
    work.runner.start(work.stages(Leg(work.records["001"].trial, None))[0])
    with contextlib.suppress(Waiting):
        work.train([Leg(known.trial, None) for known in work.records.values()], Stop(work))
    said = {row["name"]: (row["state"], row["score"], row["step"], row["last_return"]) for row in table("x")}
    assert said == {
        "000": ("finished", "7.5", "60", "5.0"),
        "001": ("running", "", "20", "2.0"),
        "002": ("interrupted", "", "30", "3.0"),
        "003": ("waiting", "", "", ""),
    }
    html = Path("x/report.html").read_text(encoding="utf-8")
    assert "trial 001: lr 0.2; no score, running" in html[html.index("Learning curves") :], "its curve is drawn"
    assert work.rows()[1].state == "interrupted", "nothing runs any more"


def test_a_trial_that_has_ended_has_its_score_when_the_tuning_is_interrupted() -> None:
    """The comparison of the four has not come."""
    work = four()
    Path("x/report.html").touch()
    with pytest.raises(Waiting):
        work.train([Leg(known.trial, None) for known in work.records.values()], Stop(work))
    work.write()
    assert (table("x")[0]["state"], table("x")[0]["score"]) == ("finished", "7.5")


def test_the_best_so_far_is_not_the_one_with_the_most_steps() -> None:
    """Episodes end at different steps; what counts is the comparison that a trial has reached."""
    work = four()
    facts(Path("x/trials/003"), {"finished": True, "step": 90}, "1,90,9,1.0\n", "90,2.5\n")
    facts(Path("x/trials/004"), {"pauses": {"50": {"step": 70}}, "step": 70}, "1,70,9,1.0\n", "70,9.0\n")
    fifth = Trial("004", work.records["003"].trial.settings)
    work.add(fifth)
    work.note([*(Leg(work.records[name].trial, None) for name in ("000", "003")), Leg(fifth, 50)])
    order = [(row.trial.name, row.score) for row in work.by_score()]
    assert order == [("000", 7.5), ("003", 2.5), ("004", 9.0), ("002", None), ("001", None)]


def test_a_process_that_an_earlier_session_has_left_runs_before_it_has_a_folder() -> None:
    work = four()
    stage = work.stages(Leg(work.records["003"].trial, None))[0]
    with open(stage.errors, "ab") as errors:
        assert take_lock(errors)
        assert work.rows()[3].state == "running"
    assert work.rows()[3].state == "waiting"


@pytest.mark.usefixtures("forking")
@pytest.mark.parametrize(
    ("general", "score", "evaluations"),
    [("", "return_mean", 0), (", online_eval: true", "return_mean", 1), ("", "evaluation", 1)],
)
def test_trials_are_evaluated_only_if_the_score_or_a_setting_asks_for_it(
    general: str, score: str, evaluations: int
) -> None:
    two = FOUR.replace(", 0.3, 0.4", "").replace("max_total_step: 60", f"max_total_step: 60{general}")
    written(f"{two}tune_cfg: {{score: {score}, rungs: 30, scheduler: halving, eta: 2}}\n")
    assert run("tune", "--yaml", "tune.yaml", "--into", "x") == 0
    rows = {row["name"]: row for row in table("x")}
    assert sorted(row["state"] for row in rows.values()) == ["finished", "paused"]
    assert all(row["score"] for row in rows.values())
    [best] = [name for name, row in rows.items() if row["state"] == "finished"]
    lines = Path(f"x/trials/{best}/results/eval.csv").read_text().splitlines()
    assert len(lines) - 1 >= evaluations
    assert (len(lines) > 1) is bool(evaluations)
    assert ("Return" in Path("x/best.yaml").read_text().splitlines()[0]) is bool(evaluations)
    pauses = json.loads(Path(f"x/trials/{best}/run.json").read_text())["pauses"]
    assert ("mean" in pauses["30"]) is (score == "evaluation" or bool(general))


@pytest.mark.usefixtures("forking")
def test_a_dry_run_names_the_trials_that_are_trained_then_and_creates_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(FOUR.replace("grid", "choice") + "tune_cfg: {samples: 3}\n")
    assert run("tune", "--yaml", "tune.yaml", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert [path.name for path in Path().iterdir()] == ["tune.yaml"]
    assert "budget        180 environment steps; 60 for a run that comes to its end" in shown
    assert "disk          3 runs may write about" in shown
    assert "memory        up to" in shown
    assert run("tune", "--yaml", "tune.yaml", "--into", "x") == 0
    planned = [line.split() for line in shown.splitlines() if line.split()[:1] and line.split()[0].isdecimal()]
    assert planned == [[row["name"], row["algo_cfg.lr"]] for row in table("x")]
    capsys.readouterr()
    assert run("tune", "--yaml", "tune.yaml", "--print-config") == 0
    Path("again.yaml").write_text(capsys.readouterr().out)
    assert run("tune", "--yaml", "again.yaml", "--dry-run") == 0
    assert without_disk(capsys.readouterr().out) == without_disk(shown)


def without_disk(text: str) -> list[str]:
    """The lines but that about the disk, of which other programs use more or less."""
    return [line for line in text.splitlines() if not line.startswith("disk")]


@pytest.mark.parametrize(("batch", "told"), [(256, True), (64, False)])
def test_a_first_comparison_before_the_end_of_a_batch_is_remarked(
    batch: int, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tune.yaml").write_text(
        "general_cfg: {algo_name: PPO, env_name: gym, max_total_step: 300}\n"
        f"algo_cfg: {{batch_size: {batch}, sgd_batch_size: 32, lr: {{log: [1e-4, 1e-2]}}}}\n"
        "env_cfg: {id: CartPole-v1}\ntune_cfg: {scheduler: halving, samples: 3}\n"
    )
    assert run("tune", "--yaml", "tune.yaml", "--dry-run") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "3 to step 100" in out
    assert ("trials are compared at step 100 first, and a batch has up to 256 steps" in out) is told


def test_a_dry_run_of_a_search_shows_its_first_batch(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    written(FOUR.replace("{grid: [0.1, 0.2, 0.3, 0.4]}", "{log: [0.1, 0.9]}"))
    assert run("tune", "--yaml", "tune.yaml", "--dry-run", "--samples", "20", "tune_cfg.search=tpe") == 0
    assert "the first 8 of 20 trials; the next ones are chosen when these have ended:" in capsys.readouterr().out


def test_faults_of_tune_cfg_and_of_the_trials_are_told_together(capsys: pytest.CaptureFixture[str]) -> None:
    written(FOUR.replace("max_total_step", "max_total_stepp") + "tune_cfg: {sampels: 3}\n")
    assert run("tune", "--yaml", "tune.yaml", "--dry-run") == 2
    err = capsys.readouterr().err
    assert "tune_cfg.sampels: unknown setting" in err
    assert "general_cfg.max_total_stepp: unknown setting" in err


@pytest.mark.parametrize(
    ("leaf", "answer"),
    [
        ("{log: [0.1, -1]}", "algo_cfg.lr: log: got [0.1, -1]; expected two numbers, the lower one first"),
        ("{log: [-1, 0.1]}", "algo_cfg.lr: log: got [-1, 0.1]; expected two numbers above 0"),
        ("{grid: [0.1, 0.1]}", "algo_cfg.lr: grid: 0.1 is listed twice"),
        ("{grid: []}", "algo_cfg.lr: grid: got []"),
    ],
)
def test_faults_of_values_to_try_and_of_other_settings_are_told_together(
    leaf: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FOUR.replace("{grid: [0.1, 0.2, 0.3, 0.4]}", f"{leaf}, gama: 0.9")
    assert "gama" in text
    written(text.replace("max_total_step", "max_total_stepp") + "tune_cfg: {sampels: 3}\n")
    assert run("tune", "--yaml", "tune.yaml", "--dry-run") == 2
    err = capsys.readouterr().err
    assert answer in err
    assert "algo_cfg.gama: unknown setting; did you mean gamma?" in err
    assert "tune_cfg.sampels: unknown setting" in err
    assert "general_cfg.max_total_stepp: unknown setting" in err
    assert "Fix the 4 problems above" in err


def test_values_to_try_whose_scores_say_nothing_about_settings_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    written("general_cfg: {env_name: gym, algo_name: {grid: [DQN, PPO]}, seed: {grid: [1, 2]}}\n"
            "env_cfg: {id: {grid: [CartPole-v1, Acrobot-v1]}}\n")  # fmt: skip
    assert run("tune", "--yaml", "tune.yaml", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "trains        DQN on CartPole-v1, DQN on Acrobot-v1, PPO on CartPole-v1, PPO on Acrobot-v1\n" in shown
    assert "general_cfg.seed is tried: the best seed is the best by chance" in shown
    assert "env_cfg.id is tried: scores of different environments are compared" in shown


def test_a_dry_run_refuses_a_folder_that_cannot_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    written(FOUR)
    assert run("tune", "--yaml", "tune.yaml", "--dry-run", "--into", "tune.yaml/x") == 2
    assert "cannot make the task directory tune.yaml/x: Not a directory" in capsys.readouterr().err


def test_each_different_note_of_the_trials_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Trials of several algorithms have several presets."""
    written("general_cfg: {env_name: gym, algo_name: {grid: [DQN, PPO, A2C]}, preset: default}\n"
            "env_cfg: {id: CartPole-v1}\nalgo_cfg: {gamma: {grid: [0.9, 0.95]}}\n")  # fmt: skip
    assert run("tune", "--yaml", "tune.yaml", "--dry-run") == 0
    shown = capsys.readouterr().out
    notes = [line for line in shown.splitlines() if line.startswith("note ")]
    assert len(set(notes)) == len(notes)
    for algo in ("DQN", "PPO", "A2C"):
        assert len([note for note in notes if f"CartPole-v1/{algo}.yaml" in note]) == 1
