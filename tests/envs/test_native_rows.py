"""Our vector versions of classic control tasks: the numbers of the scalar environments, to the bit."""

from typing import Any

import numpy as np
import pytest

import envs
from config.read.loader import load
from envs.common.sync import SyncVector
from envs.common.vector import GymnasiumVector
from envs.gym import native
from framework.catalog import ALGOS, ENVS

IDS = ("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "Pendulum-v1")


def rows_of(env_id: str, rows: int, how: str, **settings: Any) -> Any:
    words = [f"env_cfg.id={env_id}", f"env_cfg.vectorization={how}", *(f"env_cfg.{k}={v}" for k, v in settings.items())]
    config = load(None, [*words, "general_cfg.algo_name=PPO"], find_algo=ALGOS, find_env=ENVS)
    return envs.make(config.env_package, config.env, rows)


@pytest.mark.long
@pytest.mark.parametrize("env_id", IDS)
def test_ten_thousand_random_steps_and_resets_have_the_same_bits(env_id: str) -> None:
    rows = 5
    ours, scalar = rows_of(env_id, rows, "native"), rows_of(env_id, rows, "sync")
    assert isinstance(ours, GymnasiumVector)
    assert isinstance(scalar, SyncVector)
    rng, everything = np.random.default_rng(0), np.ones(rows, bool)
    seeds = np.arange(rows, dtype=np.int64)
    np.testing.assert_array_equal(ours.reset(everything, seeds), scalar.reset(everything, seeds))
    ends = 0
    for _ in range(2_000):
        action = (
            rng.integers(0, 2 if env_id == "CartPole-v1" else 3, rows)
            if env_id != "Pendulum-v1"
            else rng.uniform(-2, 2, (rows, 1)).astype("f4")
        )
        one, other = ours.step(action), scalar.step(action)
        for name in one._fields:
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
        if (over := one.terminated | one.truncated).any():
            ends += int(over.sum())
            seeds = seeds + rows
            assert ours.reset(over, seeds).tobytes() == scalar.reset(over, seeds).tobytes()
    assert ends >= 20


def test_settings_and_the_limit_of_an_episode_are_those_of_the_scalar_environment() -> None:
    ours, scalar = (rows_of("Pendulum-v1", 3, how, g=3.5, max_episode_steps=4) for how in ("native", "sync"))
    everything, seeds = np.ones(3, bool), np.arange(3, dtype=np.int64)
    assert ours.reset(everything, seeds).tobytes() == scalar.reset(everything, seeds).tobytes()
    action = np.full((3, 1), 1.5, np.float32)
    for step in range(4):
        one, other = ours.step(action), scalar.step(action)
        assert one.obs.tobytes() == other.obs.tobytes()
        assert one.truncated.all() == other.truncated.all() == (step == 3)


def test_the_other_reward_of_cart_pole_is_that_of_the_scalar_environment() -> None:
    ours, scalar = (rows_of("CartPole-v1", 2, how, sutton_barto_reward=True) for how in ("native", "sync"))
    everything, seeds = np.ones(2, bool), np.arange(2, dtype=np.int64)
    assert ours.reset(everything, seeds).tobytes() == scalar.reset(everything, seeds).tobytes()
    found = []
    while not ours._ended.any():
        one, other = ours.step(np.ones(2, np.int64)), scalar.step(np.ones(2, np.int64))
        assert one.reward.tobytes() == other.reward.tobytes()
        found.append(one.reward.min())
    assert found[-2:] == [0.0, -1.0]


@pytest.mark.parametrize(
    ("rows", "settings"),
    [(1, {}), (4, {"wrappers": "[{wrapper_name: FrameStack, stack_size: 2}]"}), (1, {"render_mode": "rgb_array"})],
)
def test_one_row_wrappers_and_pictures_have_the_scalar_environment(rows: int, settings: dict[str, Any]) -> None:
    for how in ("auto", "sync"):
        assert isinstance(rows_of("Acrobot-v1", rows, how, **settings), SyncVector)


@pytest.mark.parametrize(("env_id", "least"), [("Acrobot-v1", 8), ("CartPole-v1", 4), ("Pendulum-v1", 4)])
def test_few_rows_are_a_loop_which_is_faster(env_id: str, least: int) -> None:
    assert isinstance(rows_of(env_id, least - 1, "auto"), SyncVector)
    assert isinstance(rows_of(env_id, least, "auto"), GymnasiumVector)
    assert isinstance(rows_of(env_id, 2, "native"), GymnasiumVector), "as the settings say"


def test_a_task_of_another_kind_has_no_rows_of_ours() -> None:
    assert isinstance(rows_of("MountainCarContinuous-v0", 3, "auto"), SyncVector)
    assert len(native.ROWS) == 4
