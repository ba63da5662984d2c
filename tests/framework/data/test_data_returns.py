"""Returns over the transitions of a buffer, compared with numbers computed by hand."""

import numpy as np
import pytest
import torch

import joystick
from joystick import ReplayBuffer, VectorReplayBuffer, gae_returns, nstep_returns

VALUE = 10.0 * np.arange(1, 10)
ADVANTAGES = [1.4832, -10.44, -27, 20.1456, 15.48, 9, 20.1456, 15.48, 9]


def nine(size: int = 9, skipped: int = 0) -> ReplayBuffer:
    """Rewards 1 to 9 in three episodes: 2 is terminated, 5 truncated, and 8 goes on. skipped: steps before them that
    the ring forgets, which moves them to other places."""
    buffer = ReplayBuffer(size)
    for i in range(-skipped, 9):
        buffer.add(obs=i, act=0, rew=i + 1, terminated=i in (-1, 2), truncated=i == 5)
    return buffer


def hundreds(buffer: ReplayBuffer, last: np.ndarray) -> np.ndarray:
    """The value after step i is 100 (i + 1)."""
    return 100.0 * (buffer.obs[last] + 1)


N_STEP = [
    (1, [91, 182, 3, 364, 455, 546, 637, 728, 819]),
    (2, [164.8, 4.7, 3, 413.5, 496.4, 546, 662.2, 745.1, 819]),
    (3, [5.23, 4.7, 3, 450.76, 496.4, 546, 677.59, 745.1, 819]),
]


@pytest.mark.parametrize(("n", "expected"), N_STEP)
@pytest.mark.parametrize("skipped", [0, 4])
def test_n_step_returns_end_with_the_episode_and_at_the_newest_step(n, expected, skipped):
    buffer = nine(skipped=skipped)
    indices = buffer.sample_indices(0)
    np.testing.assert_allclose(nstep_returns(buffer, indices, hundreds, n, 0.9), expected)
    order = [5, 0, 8, 8]
    np.testing.assert_allclose(nstep_returns(buffer, indices[order], hundreds, n, 0.9), np.array(expected)[order])


def test_the_target_may_be_a_tensor_with_several_values_for_each_step():
    def target(buffer: ReplayBuffer, last: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(hundreds(buffer, last), dtype=torch.float32)[:, None] * torch.tensor([1.0, 0.0])

    found = nstep_returns(nine(), np.arange(3), target, 2, 0.9)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, [[164.8, 2.8], [4.7, 4.7], [3, 3]], rtol=1e-6)


def test_n_step_returns_of_several_environments_stay_in_their_parts():
    buffer = VectorReplayBuffer(6, 2)
    for i in range(3):
        buffer.add(obs=[i, i], act=[0, 0], rew=[1, 10], terminated=[False, i == 1])
    found = nstep_returns(buffer, buffer.sample_indices(0), lambda buffer, last: np.full(len(last), 100.0), 2, 0.5)
    np.testing.assert_allclose(found, [26.5, 26.5, 51, 15, 10, 60])


def test_a_wrong_number_of_steps_or_of_values_is_told():
    with pytest.raises(joystick.JoystickError, match="n: got 0"):
        nstep_returns(nine(), [0], hundreds, 0, 0.9)
    with pytest.raises(joystick.JoystickError, match=r"n: got 1.5"):
        nstep_returns(nine(), [0], hundreds, 1.5, 0.9)
    np.testing.assert_allclose(nstep_returns(nine(), [0], lambda buffer, last: [100], 1, 0.9), [91])
    with pytest.raises(joystick.JoystickError, match=r"returned the shape \(1,\); expected 2 values"):
        nstep_returns(nine(), [0, 1], lambda buffer, last: np.zeros(1), 1, 0.9)
    with pytest.raises(joystick.JoystickError, match="2 indices, and 1 and 2 values"):
        gae_returns(nine(), [0, 1], np.zeros(1), np.zeros(2), 0.9, 0.8)


@pytest.mark.parametrize("skipped", [0, 4])
def test_gae_counts_the_value_after_a_truncated_and_the_newest_step_but_not_after_a_terminated_one(skipped):
    buffer = nine(skipped=skipped)
    advantage, returns = gae_returns(buffer, buffer.sample_indices(0), VALUE, VALUE + 10, 0.9, 0.8)
    np.testing.assert_allclose(advantage, ADVANTAGES, rtol=1e-12)
    np.testing.assert_allclose(returns, np.array(ADVANTAGES) + VALUE, rtol=1e-12)


def test_gae_of_tensors_gives_tensors_of_their_type():
    values = torch.as_tensor(VALUE, dtype=torch.float32)
    advantage, _ = gae_returns(nine(), np.arange(9), values, values + 10, 0.9, 0.8)
    assert advantage.dtype == torch.float32
    np.testing.assert_allclose(advantage, ADVANTAGES, rtol=1e-5)


def test_gae_reaches_over_indices_that_follow_one_another_only():
    alone = [1 + 9 * 2 - 10, 2 + 9 * 3 - 20]
    advantage, _ = gae_returns(nine(), [1, 0], VALUE[[1, 0]], VALUE[[2, 1]], 0.9, 0.8)
    np.testing.assert_allclose(advantage, alone[::-1])
    twice, _ = gae_returns(nine(), [8, 8], VALUE[[8, 8]], VALUE[[8, 8]] + 10, 0.9, 0.8)
    np.testing.assert_allclose(twice, [9, 9])
    buffer = VectorReplayBuffer(4, 2)
    for i in range(2):
        buffer.add(obs=[i, i], act=[0, 0], rew=[1, 1], terminated=[False, False])
    advantage, _ = gae_returns(buffer, buffer.sample_indices(0), np.zeros(4), np.ones(4), 0.5, 1.0)
    np.testing.assert_allclose(advantage, [2.25, 1.5, 2.25, 1.5])


def test_values_that_are_whole_numbers_do_not_cut_off_rewards() -> None:
    """Four rewards of a half, undiscounted: 2, 1.5, 1, 0.5."""
    buffer = ReplayBuffer(4)
    for step in range(4):
        buffer.add(joystick.Batch(obs=step, act=0, rew=0.5, terminated=step == 3, truncated=False, obs_next=step + 1))
    advantage, _ = gae_returns(buffer, buffer.sample_indices(0), np.zeros(4, int), np.zeros(4, int), 1.0, 1.0)
    assert advantage.tolist() == [2.0, 1.5, 1.0, 0.5]


def test_an_empty_buffer_has_no_returns_and_no_samples() -> None:
    for call in (
        lambda: nstep_returns(ReplayBuffer(5), [], hundreds, 2, 0.99),
        lambda: gae_returns(ReplayBuffer(5), [], np.zeros(0), np.zeros(0), 0.9, 1.0),
    ):
        with pytest.raises(joystick.JoystickError, match="the buffer is empty"):
            call()
    prioritized = joystick.PrioritizedReplayBuffer(5, 0.6, 0.4)
    for batch in (prioritized.sample(0)[0], prioritized.sample(None)[0], prioritized[:], prioritized.chronological()):
        assert len(batch) == 0
