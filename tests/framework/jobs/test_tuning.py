"""tune: the same file and seed give the same trials and the same winner, whatever runs at once or is killed."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import joystick
from config.read import presets, tuning
from config.read.yaml_reader import read
from config.tell import language
from framework.assemble import resources
from framework.catalog import ALGOS, ENVS
from framework.disk.task_dir import take_lock
from framework.jobs import job, session
from framework.runs.experiment import Experiment
from tests.tools.charts import lines
from tests.tools.process import Forked
from tests.tools.tuning import GENERAL, forking, once, run, table, written

__all__ = ["forking"]
pytestmark = pytest.mark.usefixtures("forking")

NINE = f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 270}}
env_cfg: {{id: shifted}}
algo_cfg:
  lr: {{log: [1.0e-3, 0.5]}}
  gamma: {{grid: [0.9, 0.95, 0.99]}}
tune_cfg: {{samples: 3, scheduler: halving, score: return_mean}}
"""
FOUR = f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 240}}
env_cfg: {{id: shifted}}
algo_cfg: {{epsilon_start: {{uniform: [0.02, 1.0]}}, gamma: {{grid: [0.9, 0.99]}}}}
tune_cfg: {{samples: 2, scheduler: halving, rungs: 30, eta: 2, score: return_mean, seed: 3}}
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tuning of three trials that came to its end, trained once: to be copied."""
    with once(tmp_path_factory.mktemp("three")):
        written(NINE.replace("samples: 3", "samples: 1").replace("270", "90"))
        assert run("tune", "--yaml", "tune.yaml", "--into", "done") == 0
        return Path("done").absolute()


# --------------------------------------------------------------------------------------------------- what it does


def test_a_grid_is_tried_as_a_whole_and_the_best_settings_train_to_what_their_file_promises(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = f"""\
general_cfg: {{{GENERAL.replace("save_fig: false", "save_fig: true")}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{grid: [0.01, 0.1, 0.5]}}, gamma: {{grid_search: [0.9, 0.99]}}}}
"""
    written(text)
    assert run("tune", "--yaml", "tune.yaml", "--into", "six") == 0
    found = [(row["algo_cfg.lr"], row["algo_cfg.gamma"]) for row in table("six")]
    assert found == [(lr, gamma) for lr in ("0.01", "0.1", "0.5") for gamma in ("0.9", "0.99")]
    assert [row["state"] for row in table("six")] == ["finished"] * 6
    assert {path.name for path in Path("six").iterdir()} >= {
        "config.yaml",
        "tune.json",
        "best.yaml",
        "learning_curves.png",
    }
    best = json.loads(Path("six/tune.json").read_text())["best"]
    promised = presets.promised_return(read("six/best.yaml").comment)
    assert run("--yaml", "six/best.yaml", "--into", "again") == 0
    for name in ("results/train.csv", "results/eval.csv"):
        assert Path("again", name).read_bytes() == Path("six/trials", best, name).read_bytes()
    assert promised == pytest.approx(json.loads(Path("again/run.json").read_text())["best"])
    assert run("runs", "six") == 0
    assert not capsys.readouterr().err


def test_population_based_training_goes_on_from_the_best_with_other_settings() -> None:
    folder = Path("pbt #1: a")  # a copy gets the path of its parent as a setting
    written(f"""\
general_cfg: {{{GENERAL}, algo_name: DQN, max_total_step: 90}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{log: [1e-4, 0.1]}}, batch_size: {{choice: [8, 16, 32]}}, learning_starts: 20}}
tune_cfg: {{samples: 2, scheduler: pbt, rungs: 30, score: return_mean, seed: 4}}
""")
    assert run("tune", "--yaml", "tune.yaml", "--into", str(folder)) == 0
    rows = {row["name"]: row for row in table(folder)}
    assert [row["state"] for row in rows.values()].count("finished") == 2
    assert rows["000"]["algo_cfg.batch_size"] != rows["001"]["algo_cfg.batch_size"], "or any copy would pass"
    copies = [name for name in rows if "_" in name]
    assert len(copies) == 2, "one of two at each of two rungs"
    known = json.loads((folder / "tune.json").read_text())["trials"]
    for name in copies:
        parent = rows[known[name]["parent"]]
        assert rows[name]["algo_cfg.batch_size"] == parent["algo_cfg.batch_size"], "it may not change in a training"
        facts = json.loads((folder / "trials" / name / "run.json").read_text())
        assert f"trials/{parent['name']}/models" in facts["branched_from"]
        assert facts["pauses"][str(known[name]["at_step"])]["step"] == known[name]["at_step"]


def test_population_based_training_changes_a_value_within_a_schedule() -> None:
    written(f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{linear: [{{log: [1e-4, 0.1]}}, 0.0]}}}}
tune_cfg: {{samples: 2, scheduler: pbt, rungs: 30, score: return_mean}}
""")
    assert run("tune", "--yaml", "tune.yaml", "--into", "pbt") == 0
    rows = {row["name"]: row for row in table(Path("pbt"))}
    known = json.loads(Path("pbt/tune.json").read_text())["trials"]
    [copy] = [name for name in rows if "_" in name]
    parent = rows[known[copy]["parent"]]
    assert rows[copy]["algo_cfg.lr.linear[0]"] != parent["algo_cfg.lr.linear[0]"]


def test_a_trial_of_several_seeds_has_their_interquartile_mean_as_score() -> None:
    """Of two values the middle half is half of each."""
    written(f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{grid: [0.1, 0.5]}}}}
tune_cfg: {{seeds: 2, score: return_mean}}
""")
    assert run("tune", "--yaml", "tune.yaml", "--into", "seeds") == 0
    for row in table("seeds"):
        ends = []
        for seed in (3, 4):
            rows = Path("seeds", row["folder"], f"seed_{seed}/results/progress.csv").read_text().splitlines()
            ends.append(float(rows[-1].split(",")[rows[0].split(",").index("return_mean")]))
        assert float(row["score"]) == pytest.approx(sum(ends) / 2)
    assert "seed: 3" in Path("seeds/best.yaml").read_text()
    page = Path("seeds/report.html").read_text(encoding="utf-8")
    assert len(lines(page, "episodes")) == len(lines(page)) == 2, "the curve of the first seed, over all axes"


# --------------------------------------------------------------------------------------------------- what goes wrong


def test_all_wrong_points_of_the_space_are_told_at_once_and_nothing_is_created(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written("""\
general_cfg: {env_name: toy, algo_name: QLearning, max_total_step: 60}
env_cfg: {id: shifted}
algo_cfg:
  lr: {grid: [0.1, -1]}
  gamma: {grid: [0.9, 3]}
tune_cfg: {score: retrun_mean}
""")
    assert run("tune", "--yaml", "tune.yaml", "--into", "new") == 2
    err = capsys.readouterr().err
    assert "tune.yaml:4: algo_cfg.lr: got -1; expected a number above 0" in err
    assert "tune.yaml:5: algo_cfg.gamma: got 3; expected a number from 0 to 1" in err
    assert "tune.yaml:6: tune_cfg.score: retrun_mean is not a column of progress.csv; did you mean return_mean?" in err
    assert [path.name for path in Path().iterdir()] == ["tune.yaml"]


SPACE = "algo_cfg: {lr: {log: [1e-3, 0.1]}}\n"


@pytest.mark.parametrize(
    ("text", "words", "answer"),
    [
        ("algo_cfg: {lr: 0.1}", [], "nothing to try; write values such as algo_cfg: {lr: {log: [1e-4, 1e-2]}}"),
        ("algo_cfg: {lr: {log: [0, 1]}}", [], "algo_cfg.lr: log: got [0, 1]; expected two numbers above 0"),
        ("algo_cfg: {lr: {uniform: [2, 1]}}", [], "expected two numbers, the lower one first"),
        ("algo_cfg: {lr: {int: [1.5, 2]}}", [], "expected two whole numbers"),
        ("algo_cfg: {lr: {int: [0, 1000000000000000000000]}}", [], "int: got [0, 1000000000000000000000]; expe"),
        ("algo_cfg: {lr: {uniform: [-1e308, 1e308]}}", [], "expected two numbers of a size up to 1e+18"),
        ("algo_cfg: {lr: {grid: 3}}", [], "grid: got 3; expected a list of values"),
        ("algo_cfg: {lr: {choice: [1, 2, 1]}}", [], "choice: 1 is listed twice"),
        (SPACE + "tune_cfg: {metric: best}", [], "tune_cfg.metric: unknown setting; did you mean score?"),
        (SPACE + "tune_cfg: {foo: 3}", [], "tune_cfg.foo: unknown setting; known are: samples, search, batch, "),
        (SPACE + "tune_cfg: {sampels: 3}", [], "tune.yaml:2: tune_cfg.sampels: unknown setting; did you mean samples?"),
        (SPACE + "tune_cfg: {scheduler: PopulationBasedTraining}", [], "halving, asha or pbt; did you mean pbt?"),
        (SPACE + "tune_cfg: {scheduler: ASHAScheduler}", [], "halving, asha or pbt; did you mean asha?"),
        (SPACE + "tune_cfg: {search: Optuna}", [], "random, tpe, cmaes or qmc; did you mean tpe?"),
        (SPACE + "tune_cfg: 3", [], "tune.yaml:2: tune_cfg: got 3; expected lines of the form name: value"),
        (SPACE, ["tune_cfg.samples=x"], "command line: tune_cfg.samples: got 'x' (text)"),
        (SPACE, ["tune_cfg.samples=2", "--samples", "3"], "--samples and tune_cfg.samples are the same setting"),
        ("algo_cfg: {lr: {grid: [1, 2]}}", ["--samples", "2"], "--samples: tune_cfg.samples: nothing is drawn"),
        ("general_cfg: {seed: {grid: [1, 2]}}\ntune_cfg: {seeds: 2}", [], "seed: tune_cfg.seeds sets it too"),
        (SPACE, ["--samples", "100000000"], "--samples: 100,000,000 runs would be trained, and a tuning has at most "),
        ("algo_cfg: {lr: {grid: [1, 2]}}\ntune_cfg: {seeds: 5001}", [], "tune.yaml:2: 10,002 runs would be trained"),
        (SPACE, ["--resume", "x"], "--resume continues a tuning with its own settings; leave out --yaml"),
        (SPACE, ["--seeds", "1..3"], "leave out --seeds"),
        (SPACE + "general_cfg: {mode: test}", [], "mode"),
        (SPACE + "tune_cfg: {scheduler: halving}", ["--samples", "3"], "limit them by general_cfg.max_total_step"),
        (
            SPACE + "general_cfg: {max_total_step: 100}\ntune_cfg: {scheduler: halving, rungs: 60, samples: 9}", [],
            "tune.yaml:3: tune_cfg.rungs: the last of 2 comparisons would be at step 120, and the run has 100",
        ),
        (
            SPACE + "general_cfg: {max_total_step: 100}\ntune_cfg: {scheduler: pbt, rungs: 100, samples: 4}", [],
            "tune.yaml:3: tune_cfg.rungs: the first comparison would be at step 100, and the run has 100",
        ),
        (
            SPACE + "tune_cfg: {perturbation_interval: 5}", [],
            "tune_cfg.perturbation_interval: unknown setting; write tune_cfg.rungs, the environment steps between",
        ),
        (
            SPACE + "tune_cfg: {score: nonsense}", [],
            "known: best, episode, episodes_this_iteration, evaluation, grad_norm, iteration",
        ),
        (
            SPACE + "general_cfg: {max_total_step: 1500}\n"
            "tune_cfg: {scheduler: halving, score: return_mean, samples: 9}", [],
            "tune.yaml:3: tune_cfg.score: return_mean is known when an iteration has ended, after 1000 steps, and the "
            "first comparison is at step 167; set general_cfg.iteration_steps=167 or compare later",
        ),
        (
            "algo_cfg: {batch_size: {int: [8, 64]}}\ngeneral_cfg: {max_total_step: 100}\n"
            "tune_cfg: {scheduler: pbt, samples: 4}", [],
            "pbt changes settings while it trains, and none of those that are tried may change then",
        ),
        (
            SPACE + "general_cfg: {max_total_step: {grid: [100, 200]}}\ntune_cfg: {scheduler: halving}", [],
            "all of them need the same limits",
        ),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_clear_answer_and_nothing_is_created(
    text: str, words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(text)
    assert run("tune", "--yaml", "tune.yaml", *words) == 2
    assert answer in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["tune.yaml"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "algo_cfg: {lr: {log: [0, 1]}, gamma: {grid: [0.9, 0.99]}}\ntune_cfg: {samples: 9}",
            "tune.yaml:1: algo_cfg.lr: log: got [0, 1]; expected two numbers above 0",
        ),
        (
            SPACE + "general_cfg: {max_total_step: 1500}\n"
            "tune_cfg: {scheduler: halving, score: retrun_mean, samples: 9}",
            "tune.yaml:3: tune_cfg.score: retrun_mean is not a column of progress.csv; did you mean return_mean?",
        ),
    ],
)
def test_what_is_wrong_is_told_without_what_only_follows_from_it(
    text: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(text)
    assert run("tune", "--yaml", "tune.yaml") == 2
    [line] = [line for line in capsys.readouterr().err.splitlines() if "tune.yaml" in line]
    assert line.removeprefix("error: ") == answer


def test_a_preset_takes_the_place_of_a_file_where_words_say_what_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tune", "--algo", "PPO", "--env", "CartPole-v1", "algo_cfg.lr={grid: [1e-3, 1e-4]}", "--dry-run") == 0
    assert "2 runs in all" in capsys.readouterr().out
    words = ("general_cfg.preset=default", "algo_cfg.lr={grid: [1e-3, 1e-4]}", "--dry-run")
    assert run("tune", "--algo", "DQN", "--env", "Acrobot-v1", *words) == 0
    words = ("general_cfg.preset=Acrobot-v1/DQN", *words[1:])
    assert run("tune", "--algo", "DoubleDQN", "--env", "Acrobot-v1", *words) == 0
    assert "2 runs in all" in capsys.readouterr().out
    for env, more in (
        ("Qqqzzz-v0", ()),
        ("CartPole-v1", ("general_cfg.preset=null",)),
        ("CartPole-v1", ("general_cfg.preset=none",)),
    ):
        assert run("tune", "--algo", "PPO", "--env", env, *more, "algo_cfg.lr={grid: [1e-3, 1e-4]}", "--dry-run") == 2
        assert "or --algo and --env that have a preset" in capsys.readouterr().err


def test_an_experiment_of_rllib_may_have_values_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    text = "{run: DQN, env: CartPole-v1, stop: {timesteps_total: 50}, config: {lr: {grid_search: [-1, 0.1]}}}\n"
    written(f"one: {text}")
    assert run("tune", "--yaml", "tune.yaml") == 2
    err = capsys.readouterr().err
    assert "tune.yaml:1: algo_cfg.lr: got -1; expected a number above 0" in err.replace("one.config.lr", "algo_cfg.lr")
    assert len(err.splitlines()) == 1
    written(f"one: {text.replace('-1', '1').replace('run:', 'scheduler: pbt, run:')}")
    assert run("tune", "--yaml", "tune.yaml") == 2
    assert "one.scheduler: schedulers are for values to try: tune -f FILE tune_cfg.sch" in capsys.readouterr().err
    written(f"one: {text}two: {text}")
    assert run("tune", "--yaml", "tune.yaml") == 2
    assert "tune.yaml has 2 experiments; copy the one to tune into a file of its own" in capsys.readouterr().err


@pytest.mark.parametrize("there", ["", "max_step: 100", "max_steps: 100"])
@pytest.mark.parametrize("word", ["max_step", "max_steps"])
def test_a_word_takes_the_place_of_another_spelling_in_the_file_and_leaves_its_defaults(there: str, word: str) -> None:
    written(f"""\
general_cfg: {{algo_name: QLearning, max_total_step: 60, {there}}}
env_cfg: {{id: FrozenLake-v1}}
algo_cfg: {{lr: {{grid: [0.1, 0.5]}}}}
""")
    found = tuning.from_file("tune.yaml", [f"general_cfg.{word}=50"], {}, find_algo=ALGOS, find_env=ENVS).config([0.1])
    assert found.general.max_step == 50
    assert found.algo.gamma == (0.95 if there == "max_steps: 100" else 0.99)  # JoyRL's in a file of JoyRL


def test_population_based_training_changes_the_words_of_an_experiment_of_rllib() -> None:
    config = "{lr: {loguniform: [1e-4, 0.1]}, train_batch_size: {choice: [8, 16]}}"
    written(f"poles: {{run: DQN, env: CartPole-v1, stop: {{timesteps_total: 60}}, config: {config}}}\n")
    words = ["tune_cfg.scheduler=pbt", "tune_cfg.rungs=30", "tune_cfg.samples=2", "tune_cfg.score=return_mean"]
    few = ["general_cfg.iteration_steps=10", "general_cfg.online_eval=false"]
    assert run("tune", "-f", "tune.yaml", "--into", "pbt", *words, *few) == 0
    rows = {row["name"]: row for row in table(Path("pbt"))}
    [copy] = [name for name in rows if "_" in name]
    parent = rows[json.loads(Path("pbt/tune.json").read_text())["trials"][copy]["parent"]]
    assert rows[copy]["poles.config.lr"] != parent["poles.config.lr"]
    assert rows[copy]["poles.config.train_batch_size"] == parent["poles.config.train_batch_size"]


def test_words_change_an_experiment_of_rllib_and_the_file_that_repeats_its_tuning() -> None:
    experiment = "{run: PPO, env: CartPole-v0, stop: {timesteps_total: 50}, config: {lr: {grid_search: [1, 0.1]}}}\n"
    written(f"one: {experiment}")
    words, options = ["general_cfg.seed=3", "algo_cfg.gamma=0.5"], {"find_algo": ALGOS, "find_env": ENVS}
    asked = tuning.from_file("tune.yaml", words, {"env": "Acrobot-v1"}, **options)
    Path("again.yaml").write_text(asked.to_yaml(Path("again.yaml")))
    for trials in (asked, tuning.from_file("again.yaml", [], {}, **options)):
        run_config = trials.config([0.1])
        assert (run_config.general.seed, run_config.general.max_total_step) == (3, 50)
        assert (run_config.algo.gamma, run_config.algo.lr, run_config.env.id) == (0.5, 0.1, "Acrobot-v1")


def test_without_the_word_tune_values_to_try_are_the_wrong_type(capsys: pytest.CaptureFixture[str]) -> None:
    written(NINE)
    assert run("--yaml", "tune.yaml") == 2
    err = capsys.readouterr().err
    assert "tune.yaml:4: algo_cfg.lr: got " in err
    assert "values to try are for: python main.py tune --yaml FILE" in err
    assert "tune.yaml:6: tune_cfg: only tuning reads it" in err


@pytest.mark.parametrize("words", [("--algo", "PPO,DQN", "--env", "CartPole-v1"), ("--env", "a,b", "--algo", "DQN")])
def test_several_algorithms_or_environments_are_for_training(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("tune", *words, "algo_cfg.lr={log: [1e-4, 1e-2]}") == 2
    assert capsys.readouterr().err.startswith(f"{words[1]}: tune tries values for one algorithm in one environment")


@pytest.mark.parametrize("more", ["", "gamma: {grid: [0.9, 0.8]}, "])
def test_a_mistyped_kind_of_values_is_answered_with_the_nearest_one_and_nothing_that_follows_from_it(
    more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(f"general_cfg: {{{GENERAL}, algo_name: QLearning}}\nenv_cfg: {{id: shifted}}\n"
            f"algo_cfg: {{{more}lr: {{gird: [0.1, 0.5]}}}}\n")  # fmt: skip
    assert run("tune", "--yaml", "tune.yaml", "--samples", "2") == 2
    hint = "tune.yaml:3: algo_cfg.lr: gird is no kind of values to try; did you mean grid?\n"
    assert capsys.readouterr().err == hint + "Nothing was started. Fix the problem above.\n"


@pytest.mark.parametrize(
    ("leaf", "answer"),
    [
        ("gamma: {values: [0.9, 0.8]}", "algo_cfg.gamma: values is no kind of values to try; did you mean grid?"),
        ("lr: {qloguniform: [0.1, 0.5]}", "algo_cfg.lr: qloguniform is no kind of values to try; did you mean log?"),
        ("gamma: [0.9, 0.8]", "algo_cfg.gamma: got [0.9, 0.8]; to try these values, write {grid: [0.9, 0.8]}"),
        ("gamma: [9, 8]", "algo_cfg.gamma: got [9, 8]; expected a number from 0 to 1"),
    ],
)  # fmt: skip
def test_values_to_try_as_other_libraries_write_them_are_answered_with_what_to_write(
    leaf: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(f"general_cfg: {{{GENERAL}, algo_name: QLearning}}\nenv_cfg: {{id: shifted}}\nalgo_cfg: {{{leaf}}}\n")
    assert run("tune", "--yaml", "tune.yaml", "algo_cfg.initial_value={grid: [0, 1]}") == 2
    err = capsys.readouterr().err
    assert answer in err
    assert len(err.splitlines()) <= 2


def test_a_value_like_a_mistyped_kind_is_one_where_the_setting_takes_it() -> None:
    written("general_cfg: {algo_name: QLearning}\nenv_cfg: {id: FrozenLake-v1, desc: {init: [0, 1]}}\n"
            "algo_cfg: {lr: {grid: [0.1, 0.5]}}\n")  # fmt: skip
    asked = tuning.from_file("tune.yaml", (), {}, find_algo=ALGOS, find_env=ENVS)
    assert [domain.path for domain in asked.domains] == ["algo_cfg.lr"]


def test_a_trial_that_dies_is_told_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    written(f"""\
general_cfg: {{{GENERAL}, algo_name: DQN, max_total_step: 60}}
env_cfg: {{id: crash, at: {{grid: [render, step]}}}}
algo_cfg: {{learning_starts: 1000}}
""")
    assert run("tune", "--yaml", "tune.yaml", "--into", "dies") == 0
    out = capsys.readouterr().out
    assert "warning: trial 001 failed with status 2 and is left out: error: " in out
    assert "the toy crashes in step" in out
    assert [(row["state"], row["status"]) for row in table("dies")] == [("finished", "0"), ("failed", "2")]
    assert run("tune", "--resume", "dies") == 0
    assert "failed with status" not in capsys.readouterr().out, "it is not tried again"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a file that is a full disk")
def test_a_trial_that_a_full_disk_has_ended_is_told_with_the_reason_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk takes no stderr either."""
    written(f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{grid: [0.1, 0.5]}}}}
""")
    train = Experiment.train

    def without_room(training: Experiment) -> str | None:
        if training.task.path.name == "001" and Path("full").exists():
            os.dup2(os.open("/dev/full", os.O_WRONLY), sys.stderr.fileno())
            raise OSError(errno.ENOSPC, "No space left on device", "train.csv")
        return train(training)

    monkeypatch.setattr(Experiment, "train", without_room)
    Path("full").touch()
    assert run("tune", "--yaml", "tune.yaml", "--into", "x") == 1
    out = capsys.readouterr().out
    assert "trial 001 was ended by an error of the machine; it is tried again when the tuning goes on: error: " in out
    assert "train.csv: No space left on device\n" in out
    assert [row["state"] for row in table("x")] == ["finished", "interrupted"]
    Path("full").unlink()
    assert run("tune", "--resume", "x") == 0
    assert [row["state"] for row in table("x")] == ["finished", "finished"]


def test_without_room_on_the_disk_nothing_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(NINE)
    monkeypatch.setattr(resources, "checkpoint_bytes", lambda weights: 2**60)
    assert run("tune", "--yaml", "tune.yaml") == 2
    assert "9 runs may write about" in (err := capsys.readouterr().err)
    assert "try fewer samples" in err
    assert [path.name for path in Path().iterdir()] == ["tune.yaml"]


def test_a_tuning_is_continued_by_its_name_in_any_language(
    three: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(three, "tasks/done")
    before = table("tasks/done", without=())
    assert joystick.tune(resume="done").folder == Path("tasks/done").absolute()
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setenv(language.VARIABLE, "zh")
        language.language.cache_clear()
        assert run("tune", "--resume", "done") == 0, "the comments of trials/000.yaml are English"
    language.language.cache_clear()
    assert run("resume", "done", "--jobs", "1") == 0
    assert table("tasks/done", without=()) == before
    assert run("resume", "done", "--stop", "{}") == 2
    assert "--resume continues a tuning with its own settings; leave out --stop" in capsys.readouterr().err
    assert run("tune", "--resume", "don") == 2
    assert "--resume: 'don' does not exist; did you mean done?" in capsys.readouterr().err


def test_a_tuning_is_continued_with_its_own_settings_and_by_one_program_at_a_time(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(three, "done")
    before = table("done", without=())
    assert run("tune", "--resume", "done") == 0, "nothing is left to do"
    assert table("done", without=()) == before
    with session.locked(Path("done")):
        assert run("tune", "--resume", "done") == 2
    assert "done is being tuned by another process" in capsys.readouterr().err
    text = Path("done/config.yaml").read_text()
    Path("done/config.yaml").write_text(text.replace("0.9,", "0.91,"))
    assert run("tune", "--resume", "done") == 2
    assert "has other settings than done/config.yaml gives trial 000 now" in capsys.readouterr().err
    assert run("tune", "--resume", "nowhere") == 2
    assert "--resume: 'nowhere' does not exist; there is no folder tasks/" in capsys.readouterr().err
    assert run("tune", "--resume", "done/trials/000") == 2
    assert "done/trials/000 is not a tuning folder: it has no tune.json" in capsys.readouterr().err
    Path("group/seed_1").mkdir(parents=True)  # of several experiments, which has no config.yaml
    assert run("tune", "--resume", "group") == 2
    answer = "group is not a tuning folder: it has no tune.json; a run or a group of runs goes on with: "
    assert f"{answer}python main.py resume group\n" in capsys.readouterr().err


# --------------------------------------------------------------------------------------------------- interruptions


def outcome(folder: str) -> Any:
    return table(folder), json.loads(Path(folder, "tune.json").read_text())["best"]


def test_trials_that_are_as_good_as_the_best_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Actions are random, and of one seed."""
    text = f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{epsilon_start: 1.0, epsilon_end: 1.0, gamma: {{grid: [0.9, 0.99]}}}}
tune_cfg: {{score: return_mean}}
"""
    written(text)
    assert run("tune", "--yaml", "tune.yaml", "--into", "equal", "--jobs", "1") == 0
    assert len({row["score"] for row in table("equal")}) == 1
    assert "note: 2 trials have this score; best is the first of them" in capsys.readouterr().out


def test_halving_has_the_same_rungs_and_winner_whatever_runs_at_once_and_whatever_is_killed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """tests/stress/tuning_kills.py kills at more moments."""
    written(FOUR)
    assert run("tune", "--yaml", "tune.yaml", "--into", "whole", "--jobs", "1") == 0
    assert sorted(int(row["step"]) for row in table("whole")) == [30] * 2 + [60, 240]
    [winner] = [row for row in table("whole") if row["state"] == "finished"]
    assert f"best         trial {winner['name']}, return_mean" in capsys.readouterr().out
    scores = [float(row["score"]) for row in table("whole")]
    assert max(scores) == float(winner["score"])
    assert winner["name"] != "000", "or no comparison would do"
    process = Forked("tune", "--yaml", "whole/config.yaml", "--into", "whole/../parts", "--jobs", "2")
    for rows in (1, 3):
        deadline = time.monotonic() + 60
        while process.poll() is None and len(list(Path("parts/trials").glob("*/run.json"))) < rows:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        process = Forked("tune", "--resume", "whole/../parts", "--jobs", "2")
    while process.poll() is None and "at once" not in process.stdout:
        time.sleep(0.01)
    time.sleep(0.2)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGINT)  # saves all; the next session goes on
    assert process.wait() in (0, 130), process.stderr
    assert process.returncode == 0 or "to go on: python main.py tune --resume whole/../parts" in process.stdout
    last = Forked("tune", "--resume", "whole/../parts", "--jobs", "2")
    assert last.wait() == 0, last.stderr
    assert outcome("parts") == outcome("whole")


def test_a_process_that_an_earlier_session_has_left_is_waited_for_and_not_joined() -> None:
    """Its stderr is locked until it ends."""
    written(NINE.replace("samples: 3", "samples: 1").replace("270", "90"))
    process = Forked("tune", "--yaml", "tune.yaml", "--into", "left", "--jobs", "1")
    deadline = time.monotonic() + 60
    while not Path("left/trials/000.yaml").exists():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with open("left/trials/001.errors.txt", "ab") as errors:
        assert take_lock(errors)
        earlier = subprocess.Popen(["sleep", "60"], stderr=errors)
    again = Forked("tune", "--resume", "left", "--jobs", "2")
    while not Path("left/trials/002/run.json").exists() or "pauses" not in Path("left/trials/002/run.json").read_text():
        assert time.monotonic() < deadline
        assert again.poll() is None, again.stderr
        time.sleep(0.01)
    time.sleep(0.5)
    assert not Path("left/trials/001").exists()
    assert again.poll() is None, again.stderr
    earlier.kill()
    earlier.wait()
    assert again.wait() == 0, again.stderr
    assert Path("left/trials/001/run.json").exists()


def test_a_tuning_is_listed_by_its_trials_and_is_no_run(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(three, "tasks/Tune_a")
    assert run("runs") == 0
    lines = sorted(line.split("  ")[0] for line in capsys.readouterr().out.splitlines()[1:])
    assert lines == [f"Tune_a/trials/{number:03}" for number in range(3)]
    assert run("test", "Tune_a") == 2
    err = capsys.readouterr().err
    assert "is a tuning, with a run for each trial; name one of them, such as tasks/Tune_a/trials/000" in err
