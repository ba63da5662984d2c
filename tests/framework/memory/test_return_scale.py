"""Rewards scaled by returns, actions that follow, and returns to go."""

import numpy as np
import pytest

from framework.memory.return_scale import ReturnScale
from tests.framework.memory.test_offline import stored, write
from tests.tools.core import ramp, replay, written


def test_the_divisor_is_the_deviation_or_the_share_of_the_largest_return() -> None:
    scale = ReturnScale(0.5, limit=5.0)
    assert scale.divisor() == 1
    scale.add(0, np.array([[2.0], [4.0], [1.0]]), np.array([[False], [True], [False]]))
    # G: 2, 4 + 0.5 * 2 = 5, and 1 in the next episode; mean 8/3, variance (4/9 + 49/9 + 25/9) / 3 = 26/9
    assert scale.divisor() == pytest.approx((26 / 9) ** 0.5)
    assert divisor_of(scale, limit=1.0) == 5.0
    scale.add(0, np.array([[1.0]]), np.array([[False]]))
    assert scale.returns[0].tolist() == [1.5], "an episode goes on in the next piece"


def divisor_of(scale: ReturnScale, limit: float) -> float:
    other = ReturnScale(scale.gamma, limit)
    other.load_state(scale.state())
    return float(other.divisor())


def test_each_row_has_its_own_return_and_dummy_steps_do_not_count() -> None:
    scale = ReturnScale(1.0, limit=100.0)
    reward, valid = np.array([[1.0, 5.0], [2.0, 9.0]]), np.array([[True, True], [True, False]])
    scale.add(0, reward, np.zeros((2, 2), bool), valid)
    assert scale.returns[0].tolist() == [3.0, 5.0]
    assert scale.count == 3
    scale.cut(0, np.array([True, False]))
    assert scale.returns[0].tolist() == [0.0, 5.0]


def test_samples_have_scaled_rewards_and_the_scale_is_part_of_the_state() -> None:
    memory = replay(capacity=8, batch=64, return_limit=1.0)
    memory.add(ramp(0, 4))  # rewards 1 to 4; with a discount of a half G is 1, 2.5, 4.25 and 6.125
    chunk = memory.take(0.0)
    assert chunk is not None
    assert set(np.unique(chunk.columns["reward"])) == {np.float32(r / 6.125) for r in (1, 2, 3, 4)}
    other = replay(capacity=8, batch=64, return_limit=1.0)
    other.load_state(memory.state(), written(memory))
    assert other.scale is not None
    assert other.scale.divisor() == np.float32(6.125)
    assert other.scale.returns[0].tolist() == [6.125]


def test_the_data_and_what_is_collected_beside_them_have_one_scale(tmp_path) -> None:
    memory = stored(write(tmp_path / "a.npz", [2.0, 4.0]), updates=0, return_limit=1.0)
    assert memory.data.scale.divisor() == np.float32(4.0), "the largest return of the data"
    memory.add(ramp(0, 4))
    assert memory.fresh.scale.divisor() == memory.data.scale.divisor() == np.float32(6.125)
    other = stored(tmp_path / "a.npz", updates=0, return_limit=1.0)
    other.load_state(memory.state(), written(memory.fresh))
    assert other.data.scale.divisor() == other.fresh.scale.divisor() == np.float32(6.125)


def test_samples_have_the_action_that_followed_but_at_the_end_of_an_episode() -> None:
    memory = replay(capacity=8, batch=64, next_action=True)
    memory.add(ramp(0, 6, ends={(2, 0): "truncated"}))
    columns = memory.take(0.0).columns  # type: ignore[union-attr]
    step = columns["obs"][..., 0]
    there = columns["has_next"] > 0
    assert set(step[~there]) == {2.0, 5.0}, "the episode ends at 2, and 5 is the newest step"
    assert np.array_equal(columns["next_action"][there], (step[there] + 1) % 3)


def test_with_n_steps_it_is_the_action_after_the_last_of_them() -> None:
    memory = replay(capacity=8, batch=64, next_action=True, n_step=2)
    memory.add(ramp(0, 6, ends={(2, 0): "truncated"}))
    columns = memory.take(0.0).columns  # type: ignore[union-attr]
    step = columns["obs"][..., 0]
    there = columns["has_next"] > 0
    assert set(step[~there]) == {1.0, 2.0, 4.0, 5.0}
    assert np.array_equal(columns["next_action"][there], (step[there] + 2) % 3)


def test_given_steps_know_the_return_to_go(tmp_path) -> None:
    memory = stored(write(tmp_path / "a.npz", [8.0, 16.0]), to_go=True)
    chunk = memory.take(0.0)
    place = np.round(chunk.columns["obs"][..., 0] / 0.005).astype(int)
    expected = np.array([1, 2, 4, 8, 2, 4, 8, 16], np.float32)  # the reward comes in the fourth step; gamma is a half
    assert np.array_equal(chunk.columns["to_go"], expected[place])
