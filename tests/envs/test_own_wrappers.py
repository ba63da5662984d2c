"""Wrappers of the user's own module: env_cfg.wrappers: [module:Class], imported only with --allow-import."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config.read.loader import ConfigError, load
from envs.gym import Config, check
from envs.gym import env as gym_env
from framework.catalog import ALGOS, ENVS
from framework.disk.csv_table import read_csv
from main import main
from tests.tools.distributed import fake_rays
from tests.tools.envs import everyone
from tests.tools.ray import RAY, TINY

MODULE = """
import gymnasium

class Scaled(gymnasium.RewardWrapper):
    def __init__(self, env, factor):
        super().__init__(env)
        self.factor = factor

    def reward(self, reward):
        return self.factor * float(reward)

class Cut(gymnasium.ObservationWrapper):
    def __init__(self, env, part: tuple[int, int], listed: list[int] | None = None, free=None):
        super().__init__(env)
        assert isinstance(part, tuple) and isinstance(listed, list) and isinstance(free, list)
        self.observation_space = gymnasium.spaces.Box(-9, 9, (part[1] - part[0],))
        self.part = slice(*part)

    def observation(self, obs):
        return obs[self.part]

class Plain:
    pass

class Bare(gymnasium.Wrapper):
    def __init__(self, env):
        self.factor = 2

Statistics = gymnasium.wrappers.NormalizeObservation
"""
ALLOWED = ("--allow-import", "own_wrappers")


@pytest.fixture(autouse=True)
def _own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two modules in the current folder, which is on the path of this test alone. The file `ran` shows an import."""
    (tmp_path / "own_wrappers.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n{MODULE}")
    (tmp_path / "broken_wrappers.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_wrappers", None)


def scaled(factor: float) -> dict[str, Any]:
    return {"wrapper_name": "own_wrappers:Scaled", "factor": factor}


def test_a_list_is_a_tuple_where_the_wrapper_takes_tuples_alone() -> None:
    """YAML has no tuples."""
    cut = {"wrapper_name": "own_wrappers:Cut", "part": [1, 3], "listed": [1], "free": [2]}
    with closing(gym_env.make(Config(wrappers=[cut]), 2)) as env:
        assert env.observation_space.shape == (2,)
    square = {"wrapper_name": "ReshapeObservation", "shape": [2, 2]}
    with closing(gym_env.make(Config(id="CartPole-v1", wrappers=[square]), 1)) as env:
        assert env.observation_space.shape == (2, 2)
        assert env.recipe is not None
        assert env.recipe.lines[-1] == "env = gymnasium.wrappers.ReshapeObservation(env, shape=(2, 2))"


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_they_are_applied_in_their_order(vectorization: str) -> None:
    """0.25 * sign(0.5 * 1) = 0.25; SignReward last would give 1."""
    cfg = Config(wrappers=[scaled(0.5), "SignReward", scaled(0.25)], vectorization=vectorization)
    assert check(cfg) == []
    with closing(gym_env.make(cfg, 2)) as env:
        env.reset(everyone(env), np.array([0, 1]))
        assert env.step(np.array([0, 1])).reward.tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("own_wrappers:Scaled", "own_wrappers:Scaled: factor: is required, and not set"),
        ({**scaled(1), "facto": 2}, "own_wrappers:Scaled: facto: unknown; did you mean factor?"),
        ("own_wrappers:Scald", "module own_wrappers has no 'Scald'; did you mean Scaled?"),
        ("own_wrappers:", "'own_wrappers:' has no name after the colon; write module:name"),
        ("own_wrappers:Plain", "own_wrappers:Plain is not a class that inherits from gymnasium.Wrapper"),
        ("own_wrappers:gymnasium", "own_wrappers:gymnasium is not a class that inherits from gymnasium.Wrapper"),
        ("own_wrappers:Statistics", "NormalizeObservation cannot be used: its statistics would not be saved"),
        ("no_wrappers:Scaled", "the module of no_wrappers:Scaled cannot be imported: No module named 'no_wrappers'"),
        (
            "broken_wrappers:Scaled",
            "broken_wrappers:Scaled cannot be imported: ZeroDivisionError: division by zero (",
        ),
        ("own_wrappers.Scaled", "is named own_wrappers:Scaled, with --allow-import own_wrappers"),
        ("own_wrappers.py:Scaled", "; write own_wrappers:Scaled, without .py"),
        (":FrameStack", "':FrameStack' has no module before the colon; write module:name"),
    ],
)
def test_one_that_cannot_be_used_is_answered_in_one_line(entry: str | dict[str, Any], message: str) -> None:
    (problem,) = check(Config(wrappers=[entry]))
    assert problem.key == "wrappers"
    assert message in problem.message
    assert "\n" not in problem.message


def test_one_whose_init_leaves_out_that_of_its_base_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    """It was a traceback of the first look at the environment."""
    assert main([*TINY, *ALLOWED, "env_cfg.wrappers=[own_wrappers:Bare]"]) == 2
    assert "__init__ of own_wrappers:Bare has to begin with super().__init__(env)" in capsys.readouterr().err


def test_the_module_is_imported_only_with_permission(tmp_path: Path) -> None:
    """SEC-3"""
    words = ["env_cfg.wrappers=[GrayScale, {wrapper_name: own_wrappers:Scaled, factor: 1}, own_wrappers:Plain]"]
    for allowed in ([], ["own"], ["wrappers"]):
        with pytest.raises(ConfigError) as caught:
            load(None, words, find_algo=ALGOS, find_env=ENVS, allow_import=allowed)
        message = "env_cfg.wrappers: imports own_wrappers; to allow it, add --allow-import own_wrappers"
        assert str(caught.value) == f"command line: {message}"
        assert not (tmp_path / "ran").exists()
    with pytest.raises(ConfigError, match="own_wrappers:Plain is not a class that inherits"):
        load(None, words, find_algo=ALGOS, find_env=ENVS, allow_import=["own_wrappers"])
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("backend", ["general_cfg.mp_backend=single", RAY])
def test_training_evaluation_a_resume_and_a_test_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    """CartPole gives 1 at each step: every return is its length times the factor."""
    fake_rays(monkeypatch)
    yaml, run, test = tmp_path / "own.yaml", tmp_path / "run", tmp_path / "test"
    yaml.write_text("env_cfg:\n  wrappers: [{wrapper_name: own_wrappers:Scaled, factor: -0.25}]\n")
    words = ("general_cfg.max_total_step=120", "general_cfg.algo_name=DQN", "general_cfg.online_eval=true")
    assert main([*ALLOWED, *TINY, *words, backend, "--yaml", str(yaml), "--into", str(run)]) == 0
    assert main(["--resume", str(run), "general_cfg.max_total_step=160"]) == 2, "it needs the permission again"
    assert main([*ALLOWED, "--resume", str(run), "general_cfg.max_total_step=160"]) == 0
    assert main([*ALLOWED, "--test", str(run), "--into", str(test), "general_cfg.max_episode=2"]) == 0
    episodes = [*read_csv(run / "results" / "train.csv"), *read_csv(test / "results" / "test.csv")]
    assert len(episodes) > 4
    assert all(row["return"] == -0.25 * row["length"] for row in episodes)
    evaluations = read_csv(run / "results" / "eval.csv")
    assert evaluations
    assert all(row["max"] < 0 for row in evaluations)
