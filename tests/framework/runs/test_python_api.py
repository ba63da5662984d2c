"""joystick.Run: a run in the hands of a program is the run of the command line."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import yaml

import joystick
from framework.disk.csv_table import read_csv
from framework.runs import signals
from framework.runs.experiment import Experiment
from main import main
from tests.framework.runs.test_run import fingerprint, settings
from tests.tools.paths import in_the_suite

ROOT = Path(__file__).parents[3]
STEPS = (170, 170, 160)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run_of(name="QLearning", into=None, **options):
    Path("run.yaml").write_text(yaml.safe_dump(settings(name, save_fig=False)))
    return joystick.Run(yaml="run.yaml", into=into, **options)


def trained(run, *steps):
    with run:
        for count in steps:
            run.train(count)
    return run.task


def test_a_run_whose_folder_was_deleted_says_so_and_makes_no_other():
    """It trained on, made a folder of checkpoints that no resume could use, and lost its tables without a word."""
    run = run_of()
    run.train(170)
    shutil.rmtree(run.task)
    gone = f"tasks/{run.task.name} was deleted or moved while the run was training"
    for call in (run.film, lambda: run.train(170)):
        with pytest.raises(joystick.JoystickError, match=gone):
            call()
    run.close()
    assert not run.task.exists()
    another = run_of()
    another.train(170)
    shutil.rmtree(another.task)
    with pytest.raises(joystick.JoystickError, match="was deleted or moved"):
        another.close()
    assert not another.task.exists()


def test_importing_it_loads_neither_torch_nor_ray():
    code = "import joystick, sys; print(sorted({'torch', 'ray', 'gymnasium'} & sys.modules.keys()), dir(joystick))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] ['Batch', ")


def test_one_name_catches_all_errors_that_a_user_can_cause() -> None:
    for cause, kind in (
        (lambda: joystick.Run("DQN", "CartPole-v1", algo_cfg={"lr": "fast"}), joystick.ConfigError),
        (lambda: joystick.Run("DQN", "CartPole-v9"), joystick.UserError),
        (lambda: joystick.load("none"), joystick.UserError),
    ):
        with pytest.raises(joystick.UserError) as caught:
            cause()
        assert isinstance(caught.value, kind)
    assert issubclass(joystick.EnvError, joystick.UserError)
    assert issubclass(joystick.JoystickError, joystick.UserError)


@pytest.mark.parametrize("name", in_the_suite(["DQN", "PPO"], "PPO"))
def test_iterations_a_resume_and_the_command_line_write_the_same_files(name):
    end = settings(name)["general_cfg"]["max_total_step"]
    whole = trained(run_of(name), end // 3, end // 3, end)
    with run_of(name) as run:
        run.train(end // 2 + 7)
        run.save()
    with joystick.Run.resume(run.task.name) as again:
        assert again.task == run.task
        assert again.train(end)["done"]
    assert main(["--yaml", "run.yaml", "--into", "typed"]) == 0
    digests = [fingerprint(task) for task in (whole, run.task, Path("typed"))]
    for one in digests:
        del one["results/progress.csv"]  # its rows are the iterations, which differ
    assert digests[0] == digests[1] == digests[2]


def test_the_rows_of_progress_are_the_results_and_equal_after_a_resume_or_a_kill():
    results = []
    with run_of(into="whole") as run:
        results += [run.train(count) for count in STEPS]
    again = trained(run_of(into="again"), *STEPS)
    with run_of(into="cut") as run:
        run.train(STEPS[0])
        run.save()
        run._experiment.trainer.iterate = None  # nothing is saved after this
        run._broken = "killed"
    trained(joystick.Run.resume("cut"), *STEPS[1:])
    progress = [Path(name, "results", "progress.csv").read_bytes() for name in ("whole", "again", "cut")]
    assert progress[0] == progress[1] == progress[2]
    rows = read_csv(Path("whole/results/progress.csv"))
    assert [row["step"] for row in rows] == [result["step"] for result in results]
    assert [row["return_mean"] for row in rows] == [result["return_mean"] for result in results]
    assert rows[-1]["loss"] == results[-1]["metrics"]["loss"]
    for name in ("whole", "cut"):
        lines = [json.loads(line) for line in Path(name, "results", "result.json").read_text().splitlines()]
        assert [line["iteration"] for line in lines] == [1, 2, 3]
        assert all(line["seconds"] > 0 and line["pid"] > 0 for line in lines)
    assert json.loads(Path("whole/params.json").read_text()) == yaml.safe_load(Path("whole/config.yaml").read_text())
    assert again.name == "again"


def test_a_result_is_what_train_csv_says():
    with run_of() as run:
        results = [run.train(count) for count in STEPS]
    episodes, at = read_csv(run.task / "results" / "train.csv"), 0
    for number, result in enumerate(results, start=1):
        mine = [row for row in episodes if at < row["step"] <= result["step"]]
        assert result["iteration"] == number
        assert result["episodes_this_iteration"] == len(mine)
        assert result["return_mean"] == pytest.approx(np.mean([row["return"] for row in mine]))
        assert result["return_min"], result["return_max"] == (
            min(row["return"] for row in mine), max(row["return"] for row in mine),
        )  # fmt: skip
        at = result["step"]
    assert [result["done"] for result in results] == [False, False, True]
    assert results[-1]["reason"] == "max_total_step 500 reached"
    text = joystick.pretty(results[-1])
    assert text.startswith("iteration 3   500 steps, ")
    assert "done        max_total_step 500 reached" in text


def test_a_checkpoint_is_gone_back_to():
    whole = trained(run_of("DQN", into="whole"), 200, 300)
    with run_of("DQN", into="back") as run:
        run.train(200)
        path = run.save()
        run.train(150)
        run.save()
        run.restore(path)
        assert run.count.step == 200
        run.train(300)
    assert fingerprint(run.task) == fingerprint(whole)
    with (
        run_of(into="other") as other,
        pytest.raises(joystick.JoystickError, match=r"not a checkpoint of other; Run.branch"),
    ):
        other.restore(Path("whole/models/100"))


def test_an_error_in_a_round_leaves_the_run_to_be_restored(monkeypatch):
    with run_of() as run:
        run.train(100)
        run.save()
        monkeypatch.setattr(run._experiment.trainer, "round", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.train(100)
        with pytest.raises(joystick.JoystickError, match=r"an error has broken off a round \(ZeroDivisionError"):
            run.train(100)
        run.restore(max((run.task / "models").glob("[0-9]*"), key=lambda path: int(path.name)))
        assert run.train(100)["step"] == 200


def test_evaluating_and_looking_at_weights_changes_nothing():
    plain = trained(run_of(into="plain"), *STEPS)
    with run_of(into="looked") as run:
        for count in STEPS:
            run.train(count)
            score = run.evaluate(2)
            assert len(score["returns"]) == score["episodes"] == 2
            assert score == run.evaluate(2)
            assert run.foreach_worker(lambda agent, index: (index, agent.weights().keys())) == [
                (0, run.weights().keys())
            ]
    assert fingerprint(run.task) == fingerprint(plain)


def test_weights_are_set_and_those_of_another_shape_refused():
    with run_of("DQN") as run:
        run.train(50)
        weights = run.weights()
        run.set_weights({name: np.zeros_like(array) for name, array in weights.items()})
        assert not any(array.any() for array in run.weights().values())
        name = next(iter(weights))
        with pytest.raises(joystick.JoystickError, match=rf"set_weights: .*{name} is "):
            run.set_weights({**weights, name: np.zeros(3)})
        for value in (np.nan, np.inf, 1e300):  # the last one is infinite in float32
            with pytest.raises(joystick.JoystickError, match=rf"set_weights: {name} has a value that is not a finite"):
                run.set_weights({**weights, name: np.full(weights[name].shape, value)})
        run.train(50)


def test_means_of_weights_are_set_and_kept_by_close():
    """A mean of arrays of one number is a number of numpy."""
    with run_of("PPO") as run:
        run.train(50)
        run.save()
        means = {name: (array + array) / 2 for name, array in run.weights().items()}
        assert any(isinstance(value, np.generic) for value in means.values())
        run.set_weights({name: value * 0 for name, value in means.items()})
    assert not any(array.any() for array in joystick.load(run, "latest").agent.weights().values())


def test_a_trained_policy_acts_as_the_run_does():
    with run_of("DQN") as run:
        run.train(100)
        run.save()
    policy = joystick.load(run.task, "latest")
    observations = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    expected = run._experiment.trainer.agent.predict_action(observations, None).action
    actions = [policy.act(obs) for obs in observations]
    assert [int(action) for action in actions] == expected.tolist()
    with pytest.raises(AttributeError, match=r"a TrainedPolicy has no 'predict'; use act\(obs\)"):
        policy.predict(observations[0])
    with pytest.raises(TypeError, match=r"act has no argument 'deterministic'; leave it out: the action is the best"):
        policy.act(observations[0], deterministic=True)
    before = sorted(run.task.parent.iterdir())
    assert sorted(Path("tasks").absolute().iterdir()) == before


def test_a_closed_run_says_so_and_a_folder_belongs_to_one_run():
    run = run_of(into="one")
    with pytest.raises(joystick.JoystickError, match="one exists"):
        run_of(into="one")
    run.train(100)
    run.close()
    run.close()
    assert "closed" in repr(run)
    for call in (run.train, run.save, run.evaluate, run.weights, lambda: run.restore(0)):
        with pytest.raises(joystick.JoystickError, match=r"the run is closed; Run.resume\('one'\) continues it"):
            call()
    facts = json.loads(Path("one/run.json").read_text())
    assert (facts["outcome"], facts["finished"], facts["step"]) == ("closed by the program", False, 100)
    assert Path("one/report.html").exists()


def test_what_was_trained_is_saved_at_the_end_of_the_with_also_after_an_error():
    def work():
        with run_of(into="one") as run:
            run.train(120)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    with joystick.Run.resume("one") as again:
        assert again.count.step == 120


def test_settings_from_python_are_as_strict_as_yaml():
    with pytest.raises(joystick.ConfigError) as caught:
        joystick.Run("PPOO", "CartPole-v1", seed=-1, algo_cfg={"lr": "fast", "gama": 0.9}, general_cfg={"mode": "test"})
    text = str(caught.value)
    assert "Python: general_cfg.algo_name: unknown name 'PPOO'" in text
    assert "Python: general_cfg.seed: got -1" in text
    with pytest.raises(joystick.ConfigError) as caught:
        joystick.Run("PPO", "CartPole-v1", algo_cfg={"lr": "fast", "gama": 0.9})
    assert "Python: algo_cfg.lr: got 'fast' (text); expected a number" in str(caught.value)
    assert "Python: algo_cfg.gama: unknown setting; did you mean gamma?" in str(caught.value)
    assert not Path("tasks").exists()


def test_a_branch_goes_on_in_a_folder_of_its_own():
    whole = trained(run_of(into="whole"), 300)
    with joystick.Run.branch("whole", 100, ["algo_cfg.lr=1e-3"], into="branch") as run:
        assert run.count.update == 100
        run.train(50)
    assert run.task == Path("branch").absolute()
    assert fingerprint(whole)


def test_nothing_is_printed_unless_it_is_asked_for(capfd):
    trained(run_of(), 100)
    assert capfd.readouterr() == ("", "")
    trained(run_of(show=True), 100)
    assert "closed by the program" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason", "rows"),
    [
        (["general_cfg.max_iteration=3"], "max_iteration 3 reached", 3),
        (["general_cfg.stop_return=5"], "stop_return 5 reached", 1),
        (["general_cfg.max_total_step=250"], "max_total_step 250 reached", 3),
    ],
)
def test_iterations_end_a_run_of_the_command_line(words, reason, rows):
    Path("run.yaml").write_text(yaml.safe_dump(settings("DQN", save_fig=False, max_total_step=-1, iteration_steps=100)))
    words += ["general_cfg.model_save_unit=iteration", "general_cfg.model_save_fre=2"]
    assert main(["--yaml", "run.yaml", *words, "--into", "run"]) == 0
    assert json.loads(Path("run/run.json").read_text())["outcome"] == reason
    progress = read_csv(Path("run/results/progress.csv"))
    assert [row["iteration"] for row in progress] == list(range(1, rows + 1))
    saved = [int(path.name) for path in Path("run/models").glob("[0-9]*")]
    assert len(saved) == (1 if rows == 1 else 2)


def test_ctrl_c_ends_the_round_and_nothing_is_lost():
    """A second one would break it off."""
    import signal

    with run_of(into="one") as run:
        run.train(100)
        trainer, rounds = run._experiment.trainer, []
        one = trainer.round

        def interrupted():
            one()
            rounds.append(run.count.step)
            if len(rounds) == 3:
                signal.raise_signal(signal.SIGINT)

        trainer.round = interrupted
        with pytest.raises(KeyboardInterrupt):
            run.train(100)
        step = run.count.step
        assert step == rounds[-1] < 200
        assert len(rounds) == 3
    with joystick.Run.resume("one") as again:
        assert again.count.step == step
        assert again.train(100)["step"] == 200


def test_a_run_that_is_left_open_is_saved_at_the_end_of_the_program_also_after_a_restore_of_another_that_failed():
    code = """
import joystick
from framework.runs.experiment import Experiment

def opened(into):
    short = {'save_fig': False, 'online_eval_episode': 1}
    run = joystick.Run('QLearning', 'FrozenLake-v1', seed=1, into=into, general_cfg=short)
    run.train(200)
    return run

class Broken:
    def __enter__(self):
        raise OSError('no environment can be made')

one, two = opened('one'), opened('two')
checkpoint = one.save()
enter, Experiment.__enter__ = Experiment.__enter__, Broken.__enter__
try:
    one.restore(checkpoint)
except OSError as error:
    print(error)
Experiment.__enter__ = enter
"""
    env = {**__import__("os").environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "no environment can be made\n"
    assert "Traceback" not in done.stderr
    assert "two was left open; it is saved and closed" in done.stderr
    with joystick.Run.resume("two") as run:
        assert run.count.step >= 200


def test_a_run_cannot_be_left_while_it_trains():
    with run_of(into="one") as run:

        def leave(*_):
            with run:
                pass

        run._experiment.trainer.observers[0].settled = leave
        with pytest.raises(joystick.JoystickError, match="close is not possible now: a callback of train calls it"):
            run.train(20)


def test_an_error_inside_a_property_of_a_run_is_told_as_it_is(monkeypatch):
    with run_of(into="one") as run:
        with monkeypatch.context() as patch:
            patch.setattr(type(run._experiment), "config", property(lambda experiment: experiment.lost), raising=False)
            with pytest.raises(AttributeError, match="'Experiment' object has no attribute 'lost'"):
                _ = run.config
        with pytest.raises(AttributeError, match="a Run has no 'step'"):
            _ = run.step


def test_a_model_is_loaded_although_what_the_agent_remembers_is_damaged(capsys):
    run = run_of("DQN", into="one")
    trained(run, 100)
    for file in (run.task / "models" / "journal").iterdir():
        file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
    joystick.load("one", "latest")
    assert capsys.readouterr().out == ""


def test_a_model_is_loaded_by_the_path_that_a_run_prints():
    task = trained(run_of("DQN", into="one"), 100)
    (number,) = (path.name for path in (task / "models").iterdir() if path.name.isdecimal())
    for path in (f"one/models/{number}", task / "models" / number, "one/models/latest/"):
        assert joystick.load(path).about["model"] == f"update {number} of one"


def test_calls_with_wrong_numbers_and_texts_in_place_of_lists_are_answered():
    with run_of(into="one") as run:
        for call, wrong in (
            (run.train, 0),
            (run.train, 1.5),
            (run.train, "100"),
            (run.evaluate, 0),
            (run.evaluate, -1),
        ):
            with pytest.raises(joystick.JoystickError, match="expected a whole number, at least 1"):
                call(wrong)
        with pytest.raises(joystick.JoystickError, match="is not a finite number"):
            run.set_weights({name: array * np.nan for name, array in run.weights().items()})
        for wrong in (3, {name: "text" for name in run.weights()}):
            with pytest.raises(joystick.JoystickError, match=r"set_weights: .*; expected "):
                run.set_weights(wrong)
    for options in (
        {"words": "algo_cfg.lr=0.1"},
        {"words": 3},
        {"allow_import": "my_mod"},
        {"allow_import": 3},
        {"callbacks": 3},
        {"algo_cfg": [1]},
        {"env_cfg": {3: 1}},
    ):
        with pytest.raises(joystick.ConfigError, match=r"Python: .*expected a"):
            run_of(**options)
    with pytest.raises(joystick.ConfigError, match=r"Python: env: got .*; expected an id, or the class or function"):
        joystick.Run("DQN", object())
    for algo, words in (
        ("my.yaml", "algo: 'my.yaml' is a file of settings; write yaml='my.yaml'"),
        (np, r"algo: got <module 'numpy'.*; expected the name of an algorithm, such as 'PPO'"),
    ):
        with pytest.raises(joystick.ConfigError, match=words):
            joystick.Run(algo)
    with pytest.raises(joystick.ConfigError, match="loggers: got an object of Logger; write the class, Logger"):
        run_of(general_cfg={"loggers": ["csv", joystick.Logger()]})
    assert joystick.Run.branch("one", "latest", into="two").task == Path("two").absolute()


def test_an_observation_that_does_not_fit_the_environment_is_answered():
    policy = joystick.load(trained(joystick.Run("QLearning", "Taxi-v4", into="run"), 100), "latest")
    assert policy.act(3, [False, True, False, False, False, False]) == 1
    with pytest.raises(
        joystick.JoystickError,
        match=r"act: the observation has shape \(2,\); expected \(\)",
    ):
        policy.act([1, 2])
    with pytest.raises(joystick.JoystickError, match="act: the observation does not fit Discrete"):
        policy.act("left")
    table = policy.weights()["table"]
    assert table.shape == (500, 6)
    table[3, 4] = 99.0
    assert policy.act(3) != 4, "a copy"
    with pytest.raises(joystick.JoystickError, match="act takes one observation at a time"):
        policy.act([3])
    with pytest.raises(joystick.JoystickError, match=r"act: got what reset or step returns; the observation is its"):
        policy.act((3, {"prob": 1.0}))
    for obs in (500, -1, 2.5):
        with pytest.raises(joystick.JoystickError, match=rf"the observation {obs} is none of Discrete\(500\)"):
            policy.act(obs)
    with pytest.raises(RuntimeError, match="no action is legal: the action_mask is 0 everywhere"):
        policy.act(3, [False] * 6)


def test_an_observation_that_lacks_a_part_is_answered_with_the_parts():
    policy = joystick.load(trained(joystick.Run("PPO", Parts, into="run"), 100), "latest")
    assert policy.act({"at": [0.0], "goal": 1}) in (0, 1)
    parts = "; the parts of an observation are at, goal"
    for obs, fault in (
        ({"at": [0.0]}, "the observation has no part 'goal'"),
        ([0.0, 1], r"got list \[0.0, 1\]"),
        ({"at": [0.0], "goal": 7}, "the part 'goal' of the observation is 7; expected a whole number from 0 to 2"),
    ):
        with pytest.raises(joystick.JoystickError, match=f"^act: {fault}{parts}$"):
            policy.act(obs)


class Parts(gymnasium.Env):
    """An environment whose observations are dicts."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Dict(
        {"at": gymnasium.spaces.Box(-1, 1, (1,)), "goal": gymnasium.spaces.Discrete(3)}
    )

    def reset(self, *, seed=None, options=None):
        return {"at": np.zeros(1, np.float32), "goal": 1}, {}

    def step(self, action):
        return {"at": np.zeros(1, np.float32), "goal": 1}, 1.0, True, False, {}


def test_two_open_runs_have_a_log_each_and_warn_once(capfd):
    one, two = run_of(into="one"), run_of(into="two")
    for run in (one, two):
        run.train(10_000)
    capfd.readouterr()
    one.close()
    assert capfd.readouterr().err.count("warning: ") == 1
    two.close()
    for own, other in (("one", "two"), ("two", "one")):
        lines = (Path(own) / "logs/log.txt").read_text()
        assert f"{own}/report.html" in lines
        assert f"{other}/report.html" not in lines
        assert f"task directory: {other}\n" not in lines


def test_a_closed_run_outside_of_tasks_is_named_by_its_folder(tmp_path):
    for into, name in ((tmp_path / "deep" / "run", str(tmp_path / "deep" / "run")), ("tasks/mine", "mine")):
        run = run_of(into=into)
        run.close()
        with pytest.raises(joystick.JoystickError, match=f"Run.resume\\('{name}'\\) continues it"):
            run.train()
        joystick.Run.resume(name).close()


def interrupted(run, steps, at):
    """A call of train that Ctrl-C ends at a step."""
    trainer = run._experiment.trainer
    round_of = trainer.round

    def round_and_press() -> None:
        round_of()
        if trainer.count.step >= at:
            signal.raise_signal(signal.SIGINT)

    trainer.round = round_and_press
    with pytest.raises(KeyboardInterrupt):
        run.train(steps)
    trainer.round = round_of


@pytest.mark.parametrize("shell", [None, object()], ids=["program", "notebook"])
def test_an_interrupt_says_that_a_compiler_is_waited_for(shell, monkeypatch, capfd):
    monkeypatch.setattr(Experiment, "compiles", True)
    monkeypatch.setattr(signals, "kernel", lambda: shell)
    with run_of(into="compiling") as run:
        interrupted(run, 300, 100)
    assert "as soon as a gradient step is compiled, which may take a minute" in capfd.readouterr().err


@pytest.mark.parametrize("steps", [30, 400])
def test_after_an_interrupt_train_makes_as_many_steps_as_it_is_asked_for(steps):
    with run_of() as run:
        interrupted(run, 400, at=70)
        begin = run.count.step
        assert begin < 80
        assert run.train(steps)["step"] in range(begin + steps, begin + steps + 10)
    assert [row["iteration"] for row in read_csv(run.task / "results/progress.csv")] == [1]


def test_an_interrupt_in_the_last_round_of_an_iteration_leaves_nothing_to_train():
    with run_of() as run:
        trainer = run._experiment.trainer
        round_of = trainer.round

        def round_and_press() -> None:
            round_of()
            if trainer.iteration.complete(trainer.counter.work):
                signal.raise_signal(signal.SIGINT)

        trainer.round = round_and_press
        with pytest.raises(KeyboardInterrupt) as end:
            run.train(100)
        assert "goes on from there; close() ends the run" in str(end.value), "no rest"
        trainer.round = round_of
        assert run.train(100)["iteration"] == 2


def test_a_resume_or_restore_in_the_middle_of_an_iteration_makes_as_many_steps_as_it_is_asked_for():
    with run_of() as run:
        interrupted(run, 400, at=70)
        run._experiment.trainer.iteration.steps = 400  # as in a checkpoint of a program that was killed meanwhile
        path = run.save()
        begin = run.count.step
        run.restore(path)
        assert run.train(30)["step"] in range(begin + 30, begin + 40)
        run.restore(path)
    with joystick.Run.resume(run.task) as again:
        assert again.train(30)["step"] in range(begin + 30, begin + 40)


def test_a_program_is_told_the_argument_that_allows_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "corridor.py").write_text(
        "import gymnasium, numpy\n"
        "class Corridor(gymnasium.Env):\n"
        "    observation_space, action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        return 0, {}\n"
        "    def step(self, action):\n"
        "        return 1, 1.0, True, False, {}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    told = r'env_cfg\.id: imports corridor; to allow it, add allow_import=\["corridor"\]$'
    with pytest.raises(joystick.ConfigError, match=told):
        joystick.Run("QLearning", "corridor:Corridor")
    with joystick.Run("QLearning", "corridor:Corridor", into="run", allow_import=["corridor"]) as run:
        run.train(10)
        run.save()
    for call in (joystick.load, joystick.Run.resume):
        with pytest.raises(joystick.ConfigError, match=told):
            call("run")
    with pytest.raises(joystick.ConfigError, match=r"Python: allow_import: got 'corridor' \(text\); expected a list"):
        joystick.load("run", "latest", allow_import="corridor")
    assert joystick.load("run", "latest", allow_import=["corridor"]).act(0) in (0, 1)
