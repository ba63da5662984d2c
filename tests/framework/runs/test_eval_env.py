"""Evaluations, tests and films in another environment than the one of training: general_cfg.eval_env."""

import re
from pathlib import Path

import gymnasium
import imageio.v3 as iio
import numpy as np
import pytest

import joystick
from config.read.loader import ConfigError, load
from framework.archive.run import RecordedRun
from framework.catalog import ALGOS, ENVS
from main import main

pytestmark = pytest.mark.run


class Paid(gymnasium.Env):
    """Pays the same in each of three steps."""

    action_space = gymnasium.spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, pay: float = 1.0, size: int = 2, render_mode: str | None = None) -> None:
        self.pay, self.render_mode = pay, render_mode
        self.observation_space = gymnasium.spaces.Box(-1, 1, (size,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self.observation_space.low, {}

    def step(self, action):
        self.time += 1
        return self.observation_space.low, self.pay, self.time == 3, False, {}

    def render(self):
        return np.full((8, 8, 3), 10 * self.pay, np.uint8)


def run_of(**eval_env: object) -> joystick.Run:
    joystick.register_env("paid", Paid)
    general = {"env_name": "python", "eval_env": eval_env, "online_eval_episode": 2, "model_save_fre": 20}
    return joystick.Run(
        "DQN", "paid", general_cfg={**general, "online_eval": True, "save_fig": False}, into="tasks/run"
    )


def test_evaluations_tests_and_films_have_it_and_training_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with run_of(pay=5.0) as run:
        run.train(150)
        assert run.evaluate()["mean"] == 15
        film = run.film(1)
    recorded = RecordedRun(Path("tasks/run"))
    assert {row["mean"] for row in recorded.evaluations} == {15.0}
    assert {row["return"] for row in recorded.episodes} == {3.0}
    assert 45 < iio.imread(film.path)[0, -1, -1].mean() < 55, "the picture of 5.0"
    for words, score in ((), "15"), (("env_cfg.pay=2.0",), "6"), (("general_cfg.eval_env={}",), "3"):
        capsys.readouterr()
        assert main(["test", "run", "--episodes", "2", *words]) == 0
        assert f"score            {score} ± 0 over 2 episodes" in capsys.readouterr().out


def test_a_resume_does_not_compare_scores_of_two_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its best model would be the one of the environment that pays more."""
    monkeypatch.chdir(tmp_path)
    with run_of(pay=5.0) as run:
        run.train(30)
    assert main(["resume", "run", "general_cfg.max_total_step=90", "general_cfg.eval_env={pay: 2.0}"]) != 0
    assert "eval_env: {'pay': 5.0} -> {'pay': 2.0}: cannot change in a resumed run" in capsys.readouterr().err


def test_observations_and_actions_have_to_be_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run says so, too, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    same = r"eval_env: observations of evaluations are Box.*\(3,\).* the same"
    with pytest.raises(joystick.EnvError, match=same):
        run_of(size=3)
    words = ["--algo", "DQN", "--env", "paid", "general_cfg.env_name=python", "general_cfg.eval_env={size: 3}"]
    assert main([*words, "--dry-run"]) != 0
    assert re.search(same, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def test_of_several_agents_these_have_to_be_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """And not the one space that their observations are packed into."""
    pytest.importorskip("mpe2")
    words = ["--algo", "PPO", "--env", "mpe2/simple_spread_v3", "general_cfg.eval_env={N: 2}", "--dry-run"]
    assert main(words) != 0
    assert "eval_env: agents of evaluations are agent_0, agent_1: Box(-inf, inf, (12,)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ("{is_slipery: false}", "general_cfg.eval_env.is_slipery: unknown; did you mean is_slippery?"),
        ("{id: CliffWalking-v1}", "general_cfg.eval_env.id: is that of training; leave it out"),
        ("{wrappers: [Nope]}", "general_cfg.eval_env.wrappers: there is no wrapper 'Nope'"),
        ("{wrappers: [mine:W]}", "general_cfg.eval_env.wrappers: imports mine; to allow it, add --allow-import mine"),
        ("{vectorization: 3}", "general_cfg.eval_env.vectorization: is that of training; leave it out"),
        ("3", "general_cfg.eval_env: got 3; expected a mapping (name: value)"),
    ],
)
def test_what_is_wrong_is_said_under_its_name(changes: str, answer: str) -> None:
    options = {"algo": "QLearning", "env": "FrozenLake-v1", "find_algo": ALGOS, "find_env": ENVS}
    with pytest.raises(ConfigError) as caught:
        load(None, [f"general_cfg.eval_env={changes}"], **options)
    assert [problem.startswith(f"command line: {answer}") for problem in caught.value.problems] == [True]


def test_all_that_is_wrong_is_said_at_once() -> None:
    options = {"algo": "QLearning", "env": "FrozenLake-v1", "find_algo": ALGOS, "find_env": ENVS}
    with pytest.raises(ConfigError, match=r"(?s)eval_env.n_envs: is that of training.*eval_env.is_slipery: unknown"):
        load(None, ["general_cfg.eval_env={n_envs: 3, is_slipery: false}"], **options)
