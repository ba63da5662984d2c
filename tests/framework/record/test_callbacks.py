"""Callbacks: numbers of the user's own in train.csv, the same with workers and after a resume; faults are named."""

import contextlib
import json
import sys
from pathlib import Path

import numpy as np
import own_callbacks
import pytest
import yaml

import joystick
from algos import agent_class
from config.own import objects as own
from framework.catalog import ALGOS
from framework.dataset.trajectories import read
from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import read_csv
from framework.distributed import ray_cluster
from framework.record.callbacks import CallbackRecorder
from main import main
from tests.tools.distributed import without_pauses
from tests.tools.fake_ray import FakeRay

SETTINGS = {
    "seed": 3, "save_fig": False, "max_total_step": 400, "model_save_unit": "step", "model_save_fre": 100,
    "online_eval": True, "online_eval_episode": 2, "collect_traj": True, "iteration_steps": 200, "env_timeout": 0,
}  # fmt: skip
ENV = {"id": "match", "steps": 7, "n_envs": 2}
ALGO = {"value_layers": [{"layer_type": "linear", "layer_size": [8]}], "batch_size": 16, "learning_starts": 150}
WORKERS = {"mp_backend": "ray", "run_ahead": 0}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Every Ray runs in this process."""
    monkeypatch.chdir(tmp_path)
    without_pauses(monkeypatch)

    @contextlib.contextmanager
    def started(cfg, store_bytes):
        yield FakeRay(0)

    monkeypatch.setattr(ray_cluster, "started", started)


def run_of(callbacks, into="run", **general):
    return joystick.Run(
        "DQN",
        env_name="toy",
        general_cfg={**SETTINGS, **general},
        algo_cfg=ALGO,
        env_cfg=ENV,
        callbacks=callbacks,
        into=into,
    )


def to_the_end(run):
    with run:
        while not run.train()["done"]:
            pass
    return run.task / "results"


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_number_of_ones_own_is_what_the_trajectories_say(workers):
    general = {**WORKERS, "n_workers": workers} if workers else {}
    results = to_the_end(run_of(own_callbacks.Angle, **general))
    rows, episodes = read_csv(results / "train.csv"), read(results / "trajs.pkl")["next_state"]
    assert len(rows) == len(episodes) > 20
    expected = [np.mean([abs(obs[0]) for obs in observations]) for observations in episodes]
    assert [row["pole_angle"] for row in rows] == pytest.approx(expected)
    progress, at = read_csv(results / "progress.csv"), 0
    for row in progress:
        mine = [one["pole_angle"] for one in rows if at < one["step"] <= row["step"]]
        assert (row["pole_angle"], row["pole_angle_min"], row["pole_angle_max"]) == pytest.approx(
            (np.mean(mine), min(mine), max(mine))
        )
        at = row["step"]


@pytest.mark.parametrize("general", [{}, {**WORKERS, "n_workers": 2}], ids=["alone", "two workers"])
def test_a_cut_in_an_episode_and_a_resume_give_the_same_numbers(general):
    whole = to_the_end(run_of(own_callbacks.Heard, "whole", **general))
    to_the_end(run_of(own_callbacks.Heard, "cut", **{**general, "max_total_step": 201}))
    assert main(["--resume", "cut", "general_cfg.max_total_step=400", "--allow-import", "own_callbacks"]) == 0
    for name in ("train.csv", "eval.csv", "progress.csv"):
        assert (whole / name).read_bytes() == Path("cut/results", name).read_bytes()
    assert not np.isnan([row["pole_angle"] for row in read_csv(whole / "eval.csv")]).any()


def test_events_of_the_run_come_in_order_and_the_state_is_in_the_checkpoints():
    to_the_end(run_of(own_callbacks.Heard))
    saved = CheckpointStore(Path("run/models")).newest(print)
    heard = [tuple(event) for event in saved.tree["observers"]["CallbackObserver"]["heard"]]
    assert [event for event in heard if event[0] == "result"] == [("result", 1, 200), ("result", 2, 400)]
    assert [step for kind, _, step in heard if kind == "evaluation"] == [100, 200, 300, 400]
    assert [step for kind, _, step in heard if kind == "checkpoint"] == [100, 200, 300, 400]
    assert sum(kind == "episode" and evaluated for kind, evaluated, _ in heard) == 2 * 4


def test_the_state_goes_on_in_a_branch():
    to_the_end(run_of(own_callbacks.Heard))
    store = CheckpointStore(Path("run/models"))
    number = store.numbers()[1]
    before = store.read(number).tree["observers"]["CallbackObserver"]["heard"]
    branch = joystick.Run.branch("./run", number, into="branch", callbacks=own_callbacks.Heard)
    with branch:
        branch.train(100)
        heard = branch._experiment.callbacks.heard
    assert before
    assert heard[: len(before)] == before
    assert len(heard) > len(before)


def test_functions_of_a_dict_are_callbacks_too():
    seen = []

    def ended(info):
        seen.append((info["worker"], set(info["policy"]), info["episode"].length, info["episode"].total_reward))
        info["episode"].custom_metrics["twice"] = 2.0 * info["episode"].length

    functions = {"on_episode_end": ended, "on_train_result": lambda info: seen.append(info["trainer"].count.step)}
    with joystick.Run(
        "DQN", env_name="toy", general_cfg=SETTINGS, algo_cfg=ALGO, env_cfg=ENV, callbacks=functions, metrics=("twice",)
    ) as run:
        result = run.train()
    assert result["custom"] == {"twice": 14.0, "twice_min": 14.0, "twice_max": 14.0}
    assert seen[-1] == 200
    assert seen[0][:3] == (0, {"default"}, 7)


def test_callbacks_change_no_number_of_training():
    plain = to_the_end(run_of(None, "plain"))
    counted = to_the_end(run_of(own_callbacks.Heard, "counted"))
    names = read_csv(plain / "train.csv")[0].keys()
    rows = [{name: row[name] for name in names} for row in read_csv(counted / "train.csv")]
    assert str(rows) == str(read_csv(plain / "train.csv"))


@pytest.mark.parametrize("general", [{}, {**WORKERS, "n_workers": 2}], ids=["alone", "two workers"])
def test_a_callback_that_fails_ends_the_run_saved_and_with_its_name(general, capfd):
    with pytest.raises(
        joystick.JoystickError, match=r"Fails.on_episode_end has failed: KeyError: 'angles' \(\S*:\d+\)"
    ):
        to_the_end(run_of(own_callbacks.Fails, **general))
    saved = CheckpointStore(Path("run/models")).newest(print)
    assert saved.tree["count"]["step"] > 0
    words = ["--resume", "run", "--allow-import", "own_callbacks"]
    assert main([*words, "general_cfg.callbacks=null"]) == 0


def test_a_callback_that_changes_a_setting_is_told_what_can():
    def change(info):
        info["trainer"].config.algo.lr = 0.5

    with pytest.raises(joystick.JoystickError, match=r"AttributeError: lr stays what it is while a run lasts: a sched"):
        to_the_end(run_of({"on_train_result": change}))


def test_a_callback_that_calls_sys_exit_ends_the_run_saved():
    """SystemExit is no Exception: it left models/ empty."""
    with pytest.raises(joystick.JoystickError, match="on_episode_end has failed: SystemExit: 3"):
        to_the_end(run_of({"on_episode_end": lambda info: sys.exit(3)}))
    assert CheckpointStore(Path("run/models")).newest(print).tree["count"]["step"] > 0


def test_a_callback_that_raises_keyboard_interrupt_ends_the_run_saved():
    """It is no Exception either. The program gets it as one of Ctrl-C."""

    def interrupt(info):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="on_episode_end has failed: KeyboardInterrupt"):
        to_the_end(run_of({"on_episode_end": interrupt}))
    assert CheckpointStore(Path("run/models")).newest(print).tree["count"]["step"] > 0


def test_a_callback_that_fails_at_a_checkpoint_is_the_outcome_of_the_run():
    """It failed again when the run was saved for it, so that run.json had no outcome: the run had crashed."""

    def fail(info):
        raise ValueError("full")

    with pytest.raises(joystick.JoystickError, match="on_checkpoint has failed: ValueError: full"):
        to_the_end(run_of({"on_checkpoint": fail}))
    assert "on_checkpoint has failed: ValueError: full" in json.loads(Path("run/run.json").read_text())["outcome"]


def test_large_whole_numbers_are_metrics_up_to_what_float64_holds():
    recorder = CallbackRecorder(own_callbacks.Heard(), 1)
    name = own_callbacks.Heard.METRICS[0]
    assert recorder._checked({name: 2**64}) == {name: 2.0**64}
    with pytest.raises(joystick.JoystickError, match="a finite number is needed"):
        recorder._checked({name: 10**400})


@pytest.mark.parametrize(
    ("callbacks", "said"),
    [
        (
            own_callbacks.Misspelt,
            "has a method on_epsiode_end, and there is no such event; did you mean on_episode_end?",
        ),
        (own_callbacks.Taken, "METRICS gives a column 'return', and there is one of this name"),
        ({"on_epsiode_end": print}, "there is no event 'on_epsiode_end'; did you mean on_episode_end?"),
        (int, "is not a class that inherits from joystick.Callbacks"),
    ],
)
def test_what_is_no_callback_is_answered_before_anything_is_made(callbacks, said):
    with pytest.raises((joystick.JoystickError, joystick.ConfigError), match=said.replace("?", r"\?")):
        run_of(callbacks)
    assert not Path("run").exists()


def test_a_metric_of_an_algorithm_that_takes_the_name_of_a_column_is_answered(monkeypatch):
    """The points of the loggers would have stood at its values instead of the steps."""
    monkeypatch.setattr(agent_class(ALGOS.get("DQN")), "METRICS", ("loss", "step"))
    with pytest.raises(joystick.JoystickError, match="DQN: METRICS gives a column 'step', and there is one"):
        joystick.Run("DQN", "CartPole-v1", into="run").train(1)


def test_a_number_that_was_not_declared_ends_the_run():
    with pytest.raises(joystick.JoystickError, match="'angel', which METRICS does not name; did you mean angle"):
        to_the_end(run_of(own_callbacks.Undeclared))


def test_a_module_that_is_gone_at_the_resume_is_named(monkeypatch, capfd):
    with run_of(own_callbacks.Angle) as run:
        run.train(100)
    assert yaml.safe_load(Path("run/config.yaml").read_text())["general_cfg"]["callbacks"] == "own_callbacks:Angle"
    monkeypatch.delitem(sys.modules, "own_callbacks")
    monkeypatch.setattr(own, "_BY_PYTHON", set())
    monkeypatch.setattr("sys.path", [path for path in sys.path if not path.endswith("tests")])
    assert main(["--resume", "run"]) == 2
    assert "--allow-import own_callbacks" in capfd.readouterr().err
    assert main(["--resume", "run", "--allow-import", "own_callbacks"]) == 2
    assert (
        "the module of own_callbacks:Angle cannot be imported: No module named 'own_callbacks'"
        in capfd.readouterr().err
    )


def test_a_class_without_a_module_must_be_registered_for_a_resume(monkeypatch):
    class Mine(own_callbacks.Angle):
        pass

    with run_of(Mine) as run:
        run.train(100)
    with joystick.Run.resume("run") as again:  # this process knows it
        again.train(50)
    monkey = __import__("config.own.objects", fromlist=["_REGISTERED"])
    kept = monkey._REGISTERED.pop("Mine")
    with pytest.raises(
        (joystick.ConfigError, joystick.JoystickError), match="'Mine' is not registered in this process"
    ):
        joystick.Run.resume("run")
    joystick.register("Mine", kept)
    joystick.Run.resume("run").close()


def with_metrics(*names, **members):
    return type("Named", (joystick.Callbacks,), {"METRICS": names, **members})


@pytest.mark.parametrize(
    "names", [("return_mean",), ("evaluation",), ("loss",), ("x", "x_min"), ("x", "x"), ("median",)]
)
def test_a_number_takes_the_name_of_no_other_column(names):
    with pytest.raises(joystick.JoystickError, match="METRICS"):
        run_of(with_metrics(*names))
    assert not Path("run").exists()


def test_two_objects_of_one_name_are_not_mixed_up_at_a_resume():
    one, other = with_metrics("one"), with_metrics("other")
    for callbacks, into in ((one, "a"), (other, "b")):
        with run_of(callbacks, into) as run:
            run.train(50)
    for into, name in (("a", "one"), ("b", "other")):
        with joystick.Run.resume(into) as run:
            run.train(50)
        assert name in read_csv(Path(into, "results", "train.csv"))[0]


class FailsAtSecond(own_callbacks.Heard):
    """Fails once, in the second evaluation of this process."""

    failed = False

    def on_evaluation(self, *, run, evaluation):
        if run.count.step >= 200 and not FailsAtSecond.failed:
            FailsAtSecond.failed = True
            raise ValueError("once")


def test_an_evaluation_that_a_callback_fails_in_is_written_once():
    whole = to_the_end(run_of(own_callbacks.Heard, "whole"))
    with pytest.raises(joystick.JoystickError, match=r"FailsAtSecond.on_evaluation has failed: ValueError: once"):
        to_the_end(run_of(FailsAtSecond, "cut"))
    to_the_end(joystick.Run.resume("cut"))
    for name in ("train.csv", "eval.csv", "progress.csv"):
        assert (whole / name).read_bytes() == Path("cut/results", name).read_bytes()


def test_events_with_other_arguments_and_states_that_cannot_be_saved_are_named():
    def of_rllib(self, *, algorithm, result):
        pass

    with pytest.raises(joystick.JoystickError, match="on_train_result is called with run and result, by keyword"):
        run_of(with_metrics(on_train_result=of_rllib))
    with pytest.raises(joystick.JoystickError, match=r"Named.state: set cannot be saved"):
        to_the_end(run_of(with_metrics(state=lambda self: {"seen": {1}})))


def test_a_callback_may_save_and_must_not_train_or_close():
    said = []

    def after(self, *, run, result):
        run.save()
        for call in (run.train, run.close, lambda: run.restore(0)):
            with pytest.raises(joystick.JoystickError, match="is not possible now: a callback of train calls it"):
                call()
        said.append((result["iteration"], result["done"], result["reason"]))

    to_the_end(run_of(with_metrics(on_train_result=after, on_checkpoint=lambda self, *, run, path: run.save())))
    assert said == [(1, False, None), (2, True, "max_total_step 400 reached")]


def test_a_wrong_call_in_a_callback_names_the_event_and_the_run_is_saved():
    def after(self, *, run, result):
        run.train()

    with pytest.raises(joystick.JoystickError, match=r"on_train_result has failed: JoystickError: train is not poss"):
        to_the_end(run_of(with_metrics(on_train_result=after)))
    assert CheckpointStore(Path("run/models")).newest(print).facts["step"] == 200


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_number_of_ones_own_is_finite_or_left_out(value):
    def ended(self, *, episode, env):
        if episode.episode_id % 2:
            episode.metrics["odd"] = 1.0

    def broken(self, *, episode, env):
        episode.metrics["odd"] = value

    rows = read_csv(to_the_end(run_of(with_metrics("odd", on_episode_end=ended), "half")) / "train.csv")
    assert all(row["odd"] == 1 if row["seed"] % 2 else np.isnan(row["odd"]) for row in rows)
    with pytest.raises(joystick.JoystickError, match=r"metrics\['odd'\] is -?(nan|inf); a finite number is needed"):
        to_the_end(run_of(with_metrics("odd", on_episode_end=broken)))


def test_a_metric_without_a_name_is_answered_with_what_to_write():
    def end(info):
        info["episode"].custom_metrics["angle"] = 1.0

    with pytest.raises(joystick.JoystickError, match=r"write joystick.Run\(..., metrics=\['angle'\]\)"):
        run_of({"on_episode_end": end}).train()


def test_what_is_no_function_and_metrics_without_functions_are_answered_before_anything_is_made():
    with pytest.raises(joystick.JoystickError, match="on_episode_end is 3; a function of one dict is needed"):
        run_of({"on_episode_end": 3})
    with pytest.raises(joystick.ConfigError, match="metrics: only callbacks that are functions need it"):
        joystick.Run("DQN", env_name="toy", env_cfg=ENV, callbacks=own_callbacks.Angle, metrics=("mine",))
    assert not list(Path().iterdir())
