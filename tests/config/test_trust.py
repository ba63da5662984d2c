"""Code of the user's own folder is imported with the user's word: a flag, or a yes on a terminal, which is remembered.
Nothing is ever imported from a task directory."""

import json
import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

import joystick
from config.own import trust
from config.own.envs import OwnEnvError, class_name
from config.read.loader import ConfigError, load
from framework.catalog import ALGOS, ENVS
from main import main
from tests.tools.process import become, forking

__all__ = ["forking"]
ROOT = Path(__file__).parents[2]
ENV = '''
import gymnasium, numpy as np
from pathlib import Path
Path("imported").touch()

class Shop(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Box(-9, 9, (1,)), gymnasium.spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"]}
    def __init__(self, render_mode=None):
        self.render_mode = render_mode
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.zeros(1, np.float32), {}
    def step(self, action):
        self.place += 1
        return np.full(1, self.place, np.float32), float(action), self.place == 5, False, {}
    def render(self):
        return np.zeros((32, 32, 3), np.uint8)
'''  # fmt: skip
SHORT = (
    "general_cfg.max_total_step=64",
    "algo_cfg.batch_size=32",
    "algo_cfg.sgd_batch_size=32",
    "env_cfg.n_envs=1",
    "general_cfg.save_fig=false",
    "general_cfg.online_eval_episode=1",
    "general_cfg.loggers=[csv]",
)
SENTENCE = "imports shop; to allow it, add --allow-import shop"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with an environment, and an empty configuration of the user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(trust, "_answers", {})
    monkeypatch.setattr(trust, "_asking", False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    lab = tmp_path / "lab"
    lab.mkdir()
    monkeypatch.chdir(lab)
    (lab / "shop.py").write_text(ENV)
    yield lab
    for name in ("shop", "evil", "tasks", "tasks.run", "tasks.run.evil"):
        sys.modules.pop(name, None)


WAITING = re.compile(rb"\r[^\r\n]*\x1b\[K\r?")
"""A line that says what is waited for, and is written over."""


def on_a_terminal(answer: str, *words: str, pause: float = 0.0, **more: str) -> tuple[int, str]:
    """Returns the exit status of a command on a terminal, and what it shows but what it waits for; answers a question,
    after a pause in seconds in which nothing else may be written."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(more)
        signal.alarm(60)  # ends a process that waits for an answer that never comes
        sys.stdin = open(0)  # noqa: SIM115
        become(lambda: main(list(words)), 1, 2)
    shown, asked = b"", False
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
        if b"[y/N]" in shown and not asked:
            time.sleep(pause)
            while select.select([terminal], [], [], 0)[0]:
                shown += os.read(terminal, 4096)
            assert WAITING.sub(b"", shown).endswith(b"[y/N] ") or not pause
            os.write(terminal, answer.encode())
            asked = True
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), WAITING.sub(b"", shown).decode().replace("\r\n", "\n")


# ------------------------------------------------------------------------------------------------ the question


def test_a_yes_on_a_terminal_is_remembered_for_this_folder_and_can_be_taken_back(folder, capsys):
    words = ("--algo", "PPO", "--env", "shop.py", "--print-config")
    status, shown = on_a_terminal("y\n", *words, pause=0.8)
    assert status == 0
    assert shown.startswith(f"The settings name shop, which is code in {folder}.\nImport code of this folder, now and")
    assert json.loads(trust.file().read_text()) == {"folders": [str(folder)]}
    assert trust.file().stat().st_mode & 0o777 == 0o600
    status, shown = on_a_terminal("", *words)
    assert (status, "[y/N]" in shown) == (0, False)
    assert main(["trust"]) == 0
    assert capsys.readouterr().out == f"{folder}\n(remembered in {trust.file()})\n"
    assert main(["trust", "--forget"]) == 0
    assert trust.folders() == []
    assert main(["trust", "--forget", str(folder)]) == 2
    assert on_a_terminal("n\n", *words)[0] == 2


@pytest.mark.parametrize("answer", ["n\n", "\n", "yess\n", "\x04", "\x03"])
def test_anything_but_yes_imports_and_remembers_nothing(folder, answer):
    # Ctrl-C is lost in the microseconds between the question and the wait for an answer: no person is so fast
    status, shown = on_a_terminal(answer, "--env", "shop:Shop", "--print-config", pause=0.2)
    assert (status, SENTENCE in shown, shown.count("[y/N]")) == (2, True, 1)
    assert not trust.file().exists()
    assert not (folder / "imported").exists()


def test_without_somebody_to_answer_there_is_no_question(folder, capsys):
    status, shown = on_a_terminal("y\n", "--env", "shop:Shop", "--print-config", CI="true")
    assert (status, "[y/N]" in shown, SENTENCE in shown) == (2, False, True)
    assert main(["--env", "shop:Shop", "--print-config"]) == 2  # stdin is no terminal
    assert SENTENCE in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r'to allow it, add allow_import=\["shop"\]'):
        joystick.Run("PPO", "shop:Shop", into=folder / "run")
    assert not (folder / "imported").exists()


# --------------------------------------------------------------------------------------- what a trusted folder covers


@pytest.mark.usefixtures("forking")
def test_every_command_takes_the_word_for_the_folder(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    trust.remember(folder)
    assert main(["--algo", "PPO", "--env", "shop.py", "--into", "tasks/run", *SHORT]) == 0
    assert json.loads(Path("tasks/run/run.json").read_text())["allow_import"] == ["shop"]
    for words in (["resume", "run", "general_cfg.max_total_step=96"], ["test", "run"], ["evaluate", "run"],
                  ["film", "run", "--episodes", "1"], ["export", "run", "--to", "safetensors"]):  # fmt: skip
        assert main(words) == 0, capsys.readouterr().err
    assert "allow-import" not in capsys.readouterr().err
    Path("tune.yaml").write_text("general_cfg: {algo_name: PPO, max_total_step: 64}\nalgo_cfg: {lr: {grid: [0.1]}}\n")
    assert main(["tune", "--yaml", "tune.yaml", "--env", "shop.py", "--into", "tuned", "--jobs", "1", *SHORT]) == 0
    assert main(["--algo", "PPO", "--env", "shop:Shop", "--seeds", "1..2", "--into", "group", *SHORT]) == 0
    with joystick.Run("PPO", "shop:Shop", into=folder / "in_python") as run:
        assert run.config.allow_import == ("shop",)
    assert joystick.load("run").act([0.0]) in (0, 1)


def test_it_covers_the_folder_itself_and_nothing_that_is_installed(folder, capsys, monkeypatch):
    trust.remember(folder)
    installed = folder / "venv"
    installed.mkdir()
    shutil.copy("shop.py", installed / "store.py")
    (folder / "linked.py").symlink_to(folder.parent / "elsewhere.py")
    shutil.copy("shop.py", folder.parent / "elsewhere.py")
    monkeypatch.syspath_prepend(installed)
    for name in ("store", "linked", "json", "gymnasium", "missing"):
        assert not trust.covers(name), name
    assert trust.covers("shop")
    (installed / "shop.py").write_text("")  # found before that of the folder
    assert not trust.covers("shop")
    monkeypatch.chdir(folder.parent)
    assert not trust.covers("lab.shop")


def test_a_folder_that_anybody_may_write_is_not_trusted(folder):
    trust.remember(folder)
    folder.chmod(0o777)
    assert not trust.covers("shop")
    folder.chmod(0o755)
    assert trust.covers("shop")


@pytest.mark.parametrize("content", ["[", "{}", '{"folders": 3}', "[" * 100_000, '{"folders": [3]}'])
def test_a_file_that_cannot_be_read_allows_nothing(folder, content, capsys):
    trust.remember(folder)
    trust.file().write_text(content)
    assert not trust.covers("shop")
    assert main(["trust"]) == (0 if content.endswith("[3]}") else 2)


def test_a_pipe_in_place_of_the_file_allows_nothing_and_is_not_waited_for(folder, capsys):
    trust.file().parent.mkdir(parents=True)
    os.mkfifo(trust.file())
    assert main(["trust"]) == 2
    assert "is not a regular file" in capsys.readouterr().err
    assert not trust.covers("shop")


def test_a_file_that_others_may_write_allows_nothing(folder, capsys, monkeypatch):
    trust.remember(folder)
    trust.file().chmod(0o666)
    assert not trust.covers("shop")
    assert "is not used: it belongs to another user, or others may write it" in capsys.readouterr().err
    trust.file().chmod(0o600)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not trust.covers("shop")


def test_a_yes_that_cannot_be_remembered_holds_for_the_command(folder):
    (folder.parent / "xdg").write_text("")
    status, shown = on_a_terminal("y\n", "--env", "shop:Shop", "--print-config")
    assert (status, "the answer holds for this command" in shown) == (0, True)


# ----------------------------------------------------------------------------------------------- task directories


def a_task(place: Path, *files: str) -> Path:
    """Makes what passes for a task directory, with code in it."""
    (place / "models").mkdir(parents=True)
    for name in ("config.yaml", *files):
        (place / name).write_text("general_cfg: {}\n")
    (place / "evil.py").write_text(ENV)
    return place


@pytest.mark.parametrize("allow", [[], ["--allow-import", "evil"], ["--allow-import", "tasks"]])
def test_nothing_is_imported_from_a_task_directory_even_if_it_is_allowed(folder, allow, capsys, monkeypatch):
    run = a_task(folder / "tasks" / "run")
    trust.remember(folder)
    trust.remember(run)
    assert main([*allow, "--env", "tasks.run.evil:Shop", "--print-config"]) == 2
    assert f"imports tasks.run.evil, which lies in {run}, a task directory, from which" in capsys.readouterr().err
    monkeypatch.chdir(run)
    assert main([*allow, "--env", "evil.py", "--print-config"]) == 2
    assert f"imports evil, which lies in {run}, a task directory" in capsys.readouterr().err
    assert not list(folder.rglob("imported"))


@pytest.mark.parametrize(("name", "beside"), [("tune.json", "config.yaml"), ("group.json", "seed_1/run.json")])
@pytest.mark.parametrize("place", ["", "trials/more"])
def test_nothing_is_imported_from_the_folder_of_a_group_or_of_a_tuning(folder, name, beside, place, capsys):
    group = folder / "several"
    for file in (Path(place, "evil.py"), Path(name), Path(beside)):
        (group / file).parent.mkdir(parents=True, exist_ok=True)
        (group / file).write_text(ENV if file.suffix == ".py" else "{}")
    trust.remember(folder)
    module = ".".join(["several", *Path(place).parts, "evil"])
    for allow in ([], ["--allow-import", "several"]):
        assert main([*allow, "--env", f"{module}:Shop", "--print-config"]) == 2
        assert f"imports {module}, which lies in {group}, a task directory, from which" in capsys.readouterr().err
    assert not list(folder.rglob("imported"))


def test_a_task_directory_that_shadows_the_module_is_seen(folder, capsys, monkeypatch):
    run = a_task(folder / "run", "run.json")
    (run / "evil.py").rename(run / "shop.py")
    trust.remember(folder)
    monkeypatch.syspath_prepend(run)
    assert main(["--allow-import", "shop", "--env", "shop:Shop", "--print-config"]) == 2
    assert f"imports shop, which lies in {run}, a task directory" in capsys.readouterr().err
    (folder / "evil.py").symlink_to(run / "shop.py")
    assert main(["--allow-import", "evil", "--env", "evil:Shop", "--print-config"]) == 2
    for section in ("general_cfg.algo_name=run.shop", "general_cfg.callbacks=shop:Shop",
                    "general_cfg.loggers=[shop:Shop]", "env_cfg.wrappers=[shop:Shop]"):  # fmt: skip
        assert main(["--allow-import", "shop", "--allow-import", "run", section, "--print-config"]) == 2
        assert "a task directory, from which nothing is ever imported" in capsys.readouterr().err
    assert main(["--allow-import", "run", "describe", "run.shop"]) == 2
    assert not list(folder.rglob("imported"))


def test_the_folder_that_is_loaded_is_a_task_directory_whatever_it_contains(folder, capsys):
    assert main(["--allow-import", "shop", "--algo", "PPO", "--env", "shop:Shop", "--into", "tasks/run", *SHORT]) == 0
    sys.modules.pop("shop")
    Path("imported").unlink()
    run = folder.parent / "stranger"
    shutil.copytree("tasks/run", run)
    (run / "run.json").unlink()
    shutil.move("shop.py", run / "shop.py")
    sys.path.insert(0, str(run))
    assert main(["--allow-import", "shop", "evaluate", str(run)]) == 2
    assert f"imports shop, which lies in {run}, a task directory" in capsys.readouterr().err
    assert not list(folder.parent.rglob("imported"))


# -------------------------------------------------------------------------------------------------- --env FILE.py


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ("shop:Shop", "shop:Shop"),
        ("shop.py:Shop", "shop:Shop"),
        ("./shop.py", "shop:Shop"),
        ("mine/store.py:make", "mine.store:make"),
        ("mine.store:Store.make", "mine.store:Store.make"),
        ("CartPole-v1", None),
        ("minigrid:MiniGrid-Empty-5x5-v0", None),
        ("ALE/Pong-v5", None),
    ],
)
def test_a_class_or_a_file_is_an_environment_of_ones_own(env, name):
    assert class_name(env) == name


@pytest.mark.parametrize(
    ("env", "text", "message"),
    [
        ("shopp.py", "", "'shopp.py': no such file; did you mean shop.py?"),
        ("two.py", ENV + ENV.replace("Shop", "Store"), "'two.py' has several environments, Shop, Store; name the class "
         "or function: --env two.py:Shop"),
        ("module.py", "class A(Base):\n  pass\nclass B(Base):\n  pass", "'module.py' has no class with reset"),
        ("plain.py", "class Net:\n  pass", "'plain.py' has no class with reset"),
        ("net.py", "class Net(Module):\n  pass\ndef make(): ...", "'net.py' has no class with reset"),
        ("clip.py", "class Clip(gymnasium.RewardWrapper):\n  pass", "'clip.py' has no class with reset"),
        ("none.py", "x = 1", "'none.py' has no class with reset and step; name the class or function: --env "
         "none.py:NAME"),
        ("bad.py", "class", "'bad.py': cannot be read: invalid syntax (bad.py, line 1)"),
        ("../up.py", "", "'../up.py' is not a module of this folder; go to the folder of the file, and name it alone"),
        ("a-b.py:X", "", "'a-b.py' is not a module of this folder"),
    ],
)  # fmt: skip
def test_a_file_that_leads_to_no_environment_is_answered_without_running_it(env, text, message, folder):
    if text:
        Path(env).write_text(text)
    with pytest.raises(OwnEnvError) as caught:
        class_name(env)
    assert message in str(caught.value)
    assert not (folder / "imported").exists()


@pytest.mark.parametrize("base", ["MujocoEnv", "mujoco.MujocoEnv"])
def test_a_class_may_inherit_its_reset_from_an_environment_of_a_package(base, folder):
    other = "class Base(gymnasium.Env):\n    pass\n"
    Path("arm.py").write_text(f"{other}\n\nclass Arm({base}):\n    def step(self, action): ...\n")
    assert class_name("arm.py") == "arm:Arm"


def test_the_only_class_of_a_file_may_inherit_reset_and_step_from_one_that_it_imports(folder):
    Path("longer.py").write_text("from shop import Shop\nclass Longer(Shop):\n  length = 9")
    assert class_name("longer.py") == "longer:Longer"
    assert not (folder / "imported").exists()


def test_a_file_is_an_environment_in_the_settings_too(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)

    def loaded(word):
        return load(None, [word], find_algo=ALGOS, find_env=ENVS, allow_import=["shop"])

    config = loaded("env_cfg.id=shop.py")
    assert (config.general.env_name, config.env.id) == ("python", "shop:Shop")
    with pytest.raises(ConfigError, match=r"command line: env_cfg.id: 'shopp.py': no such file; did you mean shop.py"):
        loaded("env_cfg.id=shopp.py")
    with pytest.raises(ConfigError, match=r"'shop.py' is an environment; write env_name: python and env_cfg.id: shop"):
        loaded("general_cfg.env_name=shop.py")


def test_a_file_that_is_a_pipe_is_not_waited_for(folder):
    os.mkfifo("pipe.py")
    with pytest.raises(OwnEnvError, match=r"'pipe.py': cannot be read: .*is not a regular file"):
        class_name("pipe.py")


def test_a_written_kind_of_environment_is_kept(folder, capsys):
    words = ["--allow-import", "shop.py", "--env", "shop:Shop", "general_cfg.env_name=gym", "--print-config"]
    assert main(words) == 2
    assert "no id 'Shop' is registered, and shop has a class Shop" in capsys.readouterr().err
