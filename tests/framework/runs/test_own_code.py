"""A run keeps the files of the user's own code, and a resume with other ones says so."""

import hashlib
import importlib
import json
import sys
from pathlib import Path

import pytest

from main import main
from tests.tools.short_runs import SMALL_DQN

HELPER = "SIZE = 3\n"
MODULE = """\
import gymnasium
import numpy
from gymnasium.spaces import Box, Discrete

import joystick
from own_package.sizes import SIZE


class Line(gymnasium.Env):
    observation_space, action_space = Box(0, 9, (1,)), Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        self.at += 1
        return numpy.zeros(1, numpy.float32), 1.0, self.at == SIZE, False, {}
"""
LEAVES = """\
try:
    from .... import settings
except ImportError:
    settings = None
"""
ENV = ("--allow-import", "own_line")
QUICK = (
    *SMALL_DQN, "general_cfg.env_name=python", "env_cfg.id=own_line:Line", "general_cfg.max_total_step=40",
    "general_cfg.online_eval_episode=1",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module of an environment, a file that it imports, and one that it does not."""
    (tmp_path / "own_line.py").write_text(MODULE)
    (tmp_path / "own_package").mkdir()
    for name, text in (("__init__", ""), ("sizes", HELPER), ("unused", "")):
        (tmp_path / "own_package" / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def edit(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes a file, as before another command."""
    path.write_text(text)
    importlib.invalidate_caches()
    for name in ("own_line", "own_package", "own_package.sizes"):
        monkeypatch.delitem(sys.modules, name)


def test_a_resume_with_other_code_is_not_called_exact(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ENV, *QUICK, "--into", "run", "--pause-at-step", "20"]) == 0
    run, sizes = folder / "run", folder / "own_package" / "sizes.py"
    copies = {path.relative_to(run / "code").as_posix(): path.read_text() for path in (run / "code").rglob("*.py")}
    assert copies == {"own_line.py": MODULE, "own_package/__init__.py": "", "own_package/sizes.py": HELPER}
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in copies.items()}
    assert json.loads((run / "run.json").read_text())["code"] == digests

    edit(sizes, HELPER, monkeypatch)
    assert main([*ENV, "resume", "run", "--pause-at-step", "30"]) == 0
    assert "the resume is exact to the byte" in capsys.readouterr().out

    edit(sizes, "SIZE = 3 + 2\n", monkeypatch)
    assert main([*ENV, "resume", "run"]) == 0
    assert "the resume is not exact: code of your own has changed: own_package/sizes.py" in capsys.readouterr().out
    facts = json.loads((run / "run.json").read_text())
    assert facts["code"] == digests, "the code that the run began with"
    [exact, changed] = facts["resumes"]
    assert (exact["exact"], changed["exact"]) == (True, False)
    assert changed["code"]["own_package/sizes.py"] != digests["own_package/sizes.py"]
    assert (run / "code/own_package/sizes.py").read_text() == "SIZE = 3 + 2\n"


def test_a_run_without_code_of_ones_own_keeps_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*(word for word in QUICK if "env" not in word), "env_cfg.id=CartPole-v1", "--into", "run"]) == 0
    assert not (tmp_path / "run" / "code").exists()
    assert "code" not in json.loads((tmp_path / "run" / "run.json").read_text())


def test_packages_around_a_module_are_kept_and_an_import_out_of_them_that_fails_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "outer_package"
    (package / "inner").mkdir(parents=True)
    texts = {"__init__.py": "", "inner/__init__.py": "SIZE = 3\n", "inner/line.py": LEAVES + MODULE}
    for path, text in texts.items():
        (package / path).write_text(text.replace("own_package.sizes", "outer_package.inner"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = (word.replace("own_line", "outer_package.inner.line") for word in QUICK)
    assert main(["--allow-import", "outer_package", *words, "--into", "run"]) == 0
    code = tmp_path / "run" / "code" / "outer_package"
    assert {path.relative_to(code).as_posix() for path in code.rglob("*.py")} == set(texts)
