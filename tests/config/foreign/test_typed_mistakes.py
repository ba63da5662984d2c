"""What people type first, from other programs or in haste, is answered with what to type here."""

import importlib.util
from pathlib import Path

import pytest

import joystick
from framework.errors import JoystickError
from framework.record.callbacks import EVENTS, problem
from main import main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Returns what a refused command says; nothing was created."""
    before = set(Path().rglob("*"))
    try:
        status = main(list(argv))
    except SystemExit as end:
        status = end.code
    assert (status, set(Path().rglob("*"))) == (2, before)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["-n", "50000"], "unknown flag -n; a setting is written general_cfg.max_total_step=50000"),
        (["-params", "lr:3"], "unknown flag -params; use section.key=VALUE, such as algo_cfg.lr=0.001"),
        (["--n-trials", "5"], "unknown flag --n-trials; use --samples N of python main.py tune --yaml FILE"),
        (["--track"], "unknown flag --track; use general_cfg.loggers=[csv,tensorboard,wandb]; nothing is sent unless "
         "WANDB_MODE says so"),
        (["-x"], "unknown flag -x"),
        (["help", "lr"], "'help' is not a command here; python main.py describe lr explains a setting, --help the "
         "commands"),
        (["play"], "'play' is not a command here; python main.py film NAME makes a video, talk NAME talks to it, and "
         "watch shows how it learns"),
        (["learn"], "'learn' is not a command here; use python main.py train"),
        (["ui"], "'ui' is not a command here; use python main.py watch, or compare RUN RUN"),
        (["dashboard"], "'dashboard' is not a command here; use python main.py watch, or compare RUN RUN"),
        (["report", "mine"], "'report' is not a command here; open report.html in the folder of the run with a "
         "browser"),
        (["ls"], "'ls' is not a command here; use python main.py runs"),
        (["serve", "mine"], "'serve' is not a command here; use python main.py export mine --to onnx, or "
         "joystick.load(...) in Python (docs/export.md)"),
        (["video", "mine"], "'video' is not a command here; use python main.py film mine"),
        (["upload", "mine"], "'upload' is not a command here; use python main.py push mine --to hf://USER/REPO "
         "(docs/sharing.md)"),
        (["cleanrl/ppo.py"], "'cleanrl/ppo.py': a program is not run here; --algo NAME names an algorithm, and "
         "--env cleanrl/ppo.py a file with an environment"),
        (["--algo", "Ape-X"], "unknown name 'Ape-X' (python main.py list algos shows all)"),
    ],
)  # fmt: skip
def test_a_word_of_another_program_is_answered_with_ours(capsys, argv, line):
    assert answer(capsys, *argv).splitlines()[0].endswith(line)


@pytest.mark.parametrize(
    ("key", "meant"), [("learning_rat", "lr"), ("batch_siz", "batch_size"), ("learning_start", "learning_starts")]
)
def test_a_mistyped_word_of_another_program_is_answered_with_our_setting(capsys, key, meant):
    said = answer(capsys, "--algo", "DQN", "--env", "CartPole-v1", f"algo_cfg.{key}=3")
    assert said.splitlines()[0].endswith(f"{key}: unknown setting; did you mean {meant}?")


def test_all_unknown_flags_are_named_at_once(capsys):
    said = answer(capsys, "--env-id", "x", "--bogus", "--total-timesteps=7", "--env-id", "y").splitlines()
    assert said == [
        "unknown flag --env-id; a setting is written env_cfg.id=x",
        "unknown flag --bogus",
        "unknown flag --total-timesteps=7; a setting is written general_cfg.max_total_step=7",
        "See: python main.py --help",
    ]


def test_a_missing_package_is_named_without_the_command_that_was_typed(capsys, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "mujoco" else real(name, *more)
    )
    said = answer(capsys, "--algo", "PPO", "--env", "HalfCheetah-v5").splitlines()[0]
    assert "needs the package mujoco" in said
    assert said.endswith("pip install gymnasium[mujoco]") or "pip install" in said.rpartition("; ")[2]
    assert "presets of this name" not in said


def test_a_file_of_nearly_this_name_is_named_here_and_a_folder_below(capsys):
    Path("own").mkdir()
    Path("own/cartpole.yaml").touch()
    assert "cartpoel.yaml: no such file; did you mean own/cartpole.yaml?" in answer(capsys, "--yaml", "cartpoel.yaml")
    Path("cartpole.yaml").touch()
    assert "cartpoel.yaml: no such file; did you mean cartpole.yaml?" in answer(capsys, "-f", "cartpoel.yaml")
    assert "zzzzzzzz.yaml: no such file\n" in answer(capsys, "-f", "zzzzzzzz.yaml")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("algo_cfg: {lr: {loguniform: 1e-4, 1e-2}}", ", not 1e-2; a list needs brackets: {loguniform: [1e-4, 1e-2]}"),
        ("algo_cfg: {lr: {choice: 1, 2, 3}}", ", not 2; a list needs brackets: {choice: [1, 2, 3]}"),
        ("algo_cfg: {1: 2}", ", not 1"),
        ("algo_cfg: {lr: 1, 2: 3}", ", not 2"),
        ("algo_cfg: {lr: [1], 2}", ", not 2"),
    ],
)
def test_values_to_try_without_brackets_are_shown_with_them(capsys, text, end):
    Path("tune.yaml").write_text(text)
    assert answer(capsys, "tune", "--yaml", "tune.yaml").splitlines()[0].endswith(f"a key must be a name{end}")


def test_the_name_of_a_run_in_the_place_of_a_command_is_said_to_be_one(capsys):
    Path("tasks/mine").mkdir(parents=True)
    Path("tasks/mine/run.json").touch()
    assert "'mine' is not a command, but a run; write python main.py test mine, python" in answer(capsys, "mine")
    Path("tasks/mine/run.json").rename("tasks/mine/group.json")
    assert "write python main.py compare mine, python main.py resume mine" in answer(capsys, "mine")
    assert "'训练' is not a command here; use python main.py train" in answer(capsys, "训练")
    assert "'rm' is not a command here; a run is its folder" in answer(capsys, "rm", "mine")
    assert "is neither a command nor section.key=value" in answer(capsys, "long" * 100)  # no file has such a name


def test_an_id_that_no_name_is_near_is_answered_with_the_list(capsys):
    assert "there is no environment 'Foo'; the command list envs shows all" in answer(capsys, "--env", "Foo")


class Started(joystick.Callbacks):
    def on_training_step(self):
        """Is no event."""


def test_an_unknown_event_lists_those_that_exist():
    assert problem(Started).endswith(f"has a method on_training_step, and there is no such event; there are "
                                     f"{', '.join(EVENTS)}")  # fmt: skip
    with pytest.raises(JoystickError, match=r"there is no event 'begin'; there are on_episode_start, .*on_checkpoint$"):
        joystick.Run("DQN", callbacks={"begin": print})


# ------------------------------------------------------------------------------------------------ in Python


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        ({"lr": 1e-3}, "Run has no argument 'lr'; a setting is written algo_cfg={'lr': 0.001}"),
        ({"total_timesteps": 9}, "; a setting is written general_cfg={'max_total_step': 9}"),
        ({"n_steps": 9}, "algo_cfg={'batch_size': VALUE} (on-policy: batch_size is n_steps times n_envs)"),
        ({"sed": 1}, "; did you mean seed?"),
        ({"verbose": 1}, "; use show=True"),
        ({"zzz": 1}, "Run has no argument 'zzz'"),
    ],
)
def test_an_argument_that_a_run_lacks_is_answered_with_the_setting(arguments, end):
    with pytest.raises(TypeError) as caught:
        joystick.Run("PPO", "CartPole-v1", **arguments)
    assert str(caught.value).endswith(end)
    assert not list(Path().iterdir())


@pytest.mark.parametrize("call", [joystick.Run, joystick.train])
def test_all_arguments_that_are_lacking_are_named_at_once(call):
    with pytest.raises(TypeError) as caught:
        call("PPO", "CartPole-v1", learning_rate=3e-4, gae_lambda=0.9, zzz=1)
    lines = str(caught.value).splitlines()
    assert [line.partition(" has no argument ")[2].partition(";")[0] for line in lines] == [
        "'learning_rate'", "'gae_lambda'", "'zzz'",
    ]  # fmt: skip


def test_a_method_of_another_library_is_answered_with_ours():
    run = joystick.Run.__new__(joystick.Run)
    for name, end in (("learn", "; use run.train(steps)"), ("predict", "; use joystick.load(run.task).act(obs)"),
                      ("evaluat", "; use evaluate"), ("zzzz", "a Run has no 'zzzz'")):  # fmt: skip
        with pytest.raises(AttributeError) as caught:
            getattr(run, name)
        assert str(caught.value).endswith(end)
    assert not hasattr(run, "_repr_png_")


def test_a_name_that_the_module_lacks_is_answered_with_ours():
    for name, part in (("PPO", 'is named in joystick.Run("PPO", env)'), ("dqn", 'joystick.Run("DQN", env)'),
                       ("make", "makes its environment itself"), ("Runn", "did you mean Run?"),
                       ("zzzzzz", "public are Batch")):  # fmt: skip
        with pytest.raises(AttributeError) as caught:
            getattr(joystick, name)
        assert part in str(caught.value)
    assert not hasattr(joystick, "__wrapped__")
