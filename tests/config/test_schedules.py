"""Settings that change over a run, such as {linear: [0.01, 0.0]}: values, and what is said of wrong ones."""

from typing import Any

import pytest
import yaml

import joystick
from config.model.course import Schedule, value_at
from config.read.loader import ConfigError
from tests.tools.config_fixtures import loaded

PPO = ["general_cfg.algo_name=PPO", "env_cfg.id=CartPole-v1", "general_cfg.max_total_step=1000"]


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        ({"constant": 0.3}, {0.0: 0.3, 0.7: 0.3}),
        ({"linear": [0.01, 0.002]}, {0.0: 0.01, 0.25: 0.008, 1.0: 0.002, 1.5: 0.002}),
        # (1 + cos 60 degrees) / 2 = 3/4 of the way back after a third
        ({"cosine": [0.4, 0.2]}, {0.0: 0.4, 1 / 3: 0.35, 0.5: 0.3, 1.0: 0.2}),
        (
            {"piecewise": [[0.2, 1.0], [0.6, 3.0], [0.6, 5.0], [0.8, 4.0]]},
            {0.0: 1.0, 0.2: 1.0, 0.4: 2.0, 0.59: 2.95, 0.6: 5.0, 0.7: 4.5, 0.8: 4.0, 1.0: 4.0},
        ),
    ],
)
def test_the_value_follows_the_fraction_of_the_run(schedule: dict[str, Any], values: dict[float, float]) -> None:
    assert {at: Schedule(schedule).at(at) for at in values} == pytest.approx(values)


def test_a_number_stays_as_it_is() -> None:
    assert value_at(0.5, 0.9) == 0.5


def test_a_schedule_is_read_and_written_as_it_stands_in_a_file() -> None:
    algo = loaded(None, *PPO, "algo_cfg.entropy_coef={linear: [0.01, 0]}", "algo_cfg.lr={cosine: [1e-3, 0]}").algo
    assert isinstance(algo.entropy_coef, Schedule)
    assert yaml.safe_load(yaml.safe_dump(algo.model_dump()["entropy_coef"])) == {"linear": [0.01, 0]}
    assert type(algo)(**algo.model_dump()) == algo
    assert set(algo.schedules()) == {"lr_schedule", "entropy_coef", "lr"}
    assert set(loaded(None, *PPO, "algo_cfg.entropy_coef={constant: 0.1}").algo.schedules()) == {"lr_schedule"}


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("entropy_coef={linear: [0.1]}", "linear: got [0.1]; expected two numbers, the first value and the last one"),
        ("entropy_coef={linear: [0.1, -1]}", "linear: got -1; expected a number at least 0"),
        ("entropy_coef={constant: x}", "constant: got 'x' (text); expected a number at least 0"),
        ("lr={linear: [.inf, 0]}", "linear: got Infinity; expected a number at least 0"),
        ("eps_clip={cosine: [0.2, 1.5]}", "cosine: got 1.5; expected a number at least 0 and below 1"),
        (
            "lr={exponential: [0.1, 0]}",
            'got {"exponential": [0.1, 0]}; a schedule has one key of constant, linear, cosine, piecewise, such as '
            "{linear: [0.01, 0.0]}",
        ),
        (
            "lr={piecewise: [[0.5, 1], [0.2, 3]]}",
            "piecewise: got [[0.5, 1], [0.2, 3]]; expected pairs [fraction of the run, value] with fractions from 0 to "
            "1 in ascending order",
        ),
        ("lr=linear", "got 'linear' (text); expected a number above 0 or a schedule; write {linear: [0.001, 0.0]}"),
        ("lr=[1e-3, 0]", "got [0.001, 0]; expected a number above 0 or a schedule; write {linear: [0.001, 0]}"),
        ("lr=fast", "got 'fast' (text); expected a number above 0 or a schedule"),
        ("value_coef={linear: [1, 0]}", 'got {"linear": [1, 0]}; expected a number at least 0'),
    ],
)
def test_a_wrong_schedule_is_answered_once(word: str, answer: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(None, *PPO, f"algo_cfg.{word}")
    [problem] = refused.value.problems
    assert problem.endswith(f"algo_cfg.{word.partition('=')[0]}: {answer}")


def test_a_function_is_answered_with_the_kinds_of_schedules() -> None:
    with pytest.raises(ConfigError, match=r"lr: .*; a schedule is no function: constant, linear, cosine or piecewise"):
        joystick.Run("PPO", "CartPole-v1", algo_cfg={"lr": lambda fraction: 1e-3 * (1 - fraction)})


def test_values_to_try_are_for_a_tuning() -> None:
    with pytest.raises(ConfigError, match="values to try are for"):
        loaded(None, *PPO, "algo_cfg.lr={log: [1e-4, 1e-2]}")


def test_epsilon_takes_the_place_of_the_settings_that_count_steps() -> None:
    words = ["general_cfg.algo_name=DQN", "env_cfg.id=CartPole-v1", "general_cfg.max_total_step=1000"]
    config = loaded(None, *words, "algo_cfg.epsilon={linear: [1.0, 0.05]}", "algo_cfg.epsilon_decay=77")
    assert any("epsilon_decay" in note and "epsilon is" in note for note in config.notes)
