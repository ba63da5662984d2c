"""The shared mathematics, with numbers computed by hand."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

from algos.common.maths import exploration, targets
from algos.common.maths.returns import Moments, RewardScaler, discounted_sums, gae
from algos.common.nets.observations import Normalizer, normalizer_for
from algos.common.parts.state import load_weights, weights_of


def column(*values: float) -> torch.Tensor:
    """One row [T, 1]."""
    return torch.tensor(values, dtype=torch.float32).unsqueeze(1)


def flags(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool).unsqueeze(1)


# ------------------------------------------------------------------------------------------------- advantages

# gamma 0.5, lambda 0.5, so an advantage is delta + 0.25 * the next one. Values 1, 2, 3; true successors 2, 3, 4.
# delta without ends: 1 + 0.5*2 - 1 = 1;  2 + 0.5*3 - 2 = 1.5;  4 + 0.5*4 - 3 = 3
REWARD, VALUE, NEXT = column(1, 2, 4), column(1, 2, 3), column(2, 3, 4)


def test_gae_without_ends_sums_all_later_deltas() -> None:
    # 3;  1.5 + 0.25*3 = 2.25;  1 + 0.25*2.25 = 1.5625
    advantage, returns = gae(REWARD, VALUE, NEXT, flags(0, 0, 0), flags(0, 0, 0), 0.5, 0.5)
    assert advantage.squeeze(1).tolist() == [1.5625, 2.25, 3.0]
    assert returns.squeeze(1).tolist() == [2.5625, 4.25, 6.0]


def test_gae_uses_the_value_after_a_truncation_and_not_after_a_termination() -> None:
    """TRM-1, TRM-4: nothing flows back over either end."""
    # terminated at step 1: delta 2 - 2 = 0, nothing after it;  step 0: 1 + 0.25*0 = 1
    advantage, _ = gae(REWARD, VALUE, NEXT, flags(0, 1, 0), flags(0, 0, 0), 0.5, 0.5)
    assert advantage.squeeze(1).tolist() == [1.0, 0.0, 3.0]
    # truncated at step 1: delta stays 1.5, nothing after it;  step 0: 1 + 0.25*1.5 = 1.375
    advantage, _ = gae(REWARD, VALUE, NEXT, flags(0, 0, 0), flags(0, 1, 0), 0.5, 0.5)
    assert advantage.squeeze(1).tolist() == [1.375, 1.5, 3.0]


def test_a_step_that_is_terminated_and_truncated_counts_as_terminated() -> None:
    """TRM-3"""
    both = gae(REWARD, VALUE, NEXT, flags(0, 1, 0), flags(0, 1, 0), 0.5, 0.5)
    terminated = gae(REWARD, VALUE, NEXT, flags(0, 1, 0), flags(0, 0, 0), 0.5, 0.5)
    assert torch.equal(both[0], terminated[0])


def test_a_step_that_is_not_valid_gives_no_advantage_and_passes_none_on() -> None:
    advantage, returns = gae(REWARD, VALUE, NEXT, flags(0, 0, 0), flags(0, 0, 0), 0.5, 0.5, valid=flags(1, 0, 1))
    assert advantage.squeeze(1).tolist() == [1.0, 0.0, 3.0]
    assert returns.squeeze(1).tolist() == [2.0, 2.0, 6.0]


def test_gae_of_random_windows_equals_the_recursion_of_the_paper() -> None:
    """TRM-1, TRM-4: a plain backward loop in float64 over every row."""
    rng = np.random.default_rng(0)
    steps, rows, gamma, lam = 37, 5, 0.97, 0.9
    reward, value, following = rng.standard_normal((3, steps, rows))
    terminated, truncated = rng.random((2, steps, rows)) < 0.1
    expected = np.zeros((steps + 1, rows))
    for t in reversed(range(steps)):
        delta = reward[t] + gamma * following[t] * (1 - terminated[t]) - value[t]
        expected[t] = delta + gamma * lam * (1 - (terminated[t] | truncated[t])) * expected[t + 1]
    columns = (torch.tensor(c) for c in (reward, value, following, terminated, truncated))
    advantage, _ = gae(*columns, gamma, lam)
    np.testing.assert_allclose(advantage.numpy(), expected[:-1], rtol=1e-5, atol=1e-6)


def test_gamma_zero_and_one_give_finite_advantages_of_huge_rewards() -> None:
    """NUM-2"""
    for gamma in (0.0, 1.0):
        advantage, _ = gae(column(1e30, 1e30), column(0, 0), column(0, 0), flags(0, 0), flags(0, 1), gamma, 1.0)
        assert advantage.squeeze(1).tolist() == pytest.approx([1e30 * (1 + gamma), 1e30])


# ------------------------------------------------------------------------------------------------- exploration


def test_epsilon_follows_its_formula() -> None:
    # 0.01 + 0.94 exp(-1000/500);  halfway and past the end of a line from 0.95 to 0.01 over 500 steps
    assert exploration.exponential(0.95, 0.01, 500, 1000) == pytest.approx(0.01 + 0.94 * math.exp(-2))
    assert exploration.exponential(0.95, 0.01, 500, 0) == pytest.approx(0.95)
    assert exploration.linear(0.95, 0.01, 500, 250) == pytest.approx(0.48)
    assert exploration.linear(0.95, 0.01, 500, 9999) == pytest.approx(0.01)


def test_without_epsilon_the_first_of_the_best_is_chosen() -> None:
    values = np.array([[1.0, 2.0, 2.0], [3.0, 0.0, 3.0]])
    assert exploration.epsilon_greedy(values, 0.0, np.random.default_rng(0)).tolist() == [1, 0]


def test_with_epsilon_one_every_action_is_as_frequent_and_a_quarter_is_a_quarter() -> None:
    values = np.tile([0.0, 1.0, 0.0, 0.0], (40_000, 1))
    uniform = exploration.epsilon_greedy(values, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(uniform) / 40_000, 0.25, atol=0.01)
    mixed = exploration.epsilon_greedy(values, 0.2, np.random.default_rng(0))
    assert (mixed == 1).mean() == pytest.approx(0.8 + 0.2 / 4, abs=0.01)


@pytest.mark.parametrize(("epsilon", "calls"), [(1.0, 0), (0.5, 1), (0.0, 1)])
@pytest.mark.parametrize("mask", [None, np.array([[True, False, True]] * 8)])
def test_where_every_row_explores_no_values_are_computed(epsilon: float, calls: int, mask: Any) -> None:
    values, asked = np.random.default_rng(1).random((8, 3)), []

    def compute() -> np.ndarray:
        asked.append(1)
        return values

    got = exploration.epsilon_greedy_of(compute, (8, 3), epsilon, np.random.default_rng(0), mask)
    assert len(asked) == calls
    assert got.tolist() == exploration.epsilon_greedy(values, epsilon, np.random.default_rng(0), mask).tolist()
    assert got.dtype == np.int64


def test_epsilon_does_not_change_how_much_randomness_is_drawn() -> None:
    after = []
    for epsilon in (0.0, 0.5, 1.0):
        rng = np.random.default_rng(0)
        exploration.epsilon_greedy(np.zeros((3, 2)), epsilon, rng)
        after.append(rng.random())
    assert len(set(after)) == 1


# --------------------------------------------------------------------------------------------- target networks


def test_a_soft_update_mixes_and_a_full_one_copies() -> None:
    # 0.75 * 4 + 0.25 * 8 = 5
    target, online = [torch.tensor([4.0])], [nn.Parameter(torch.tensor([8.0]))]
    targets.soft_update(target, online, 0.25)
    assert target[0].tolist() == [5.0]
    targets.soft_update(target, online, 1.0)
    assert target[0].tolist() == [8.0]
    assert not target[0].requires_grad


def test_a_target_network_is_frozen_has_its_own_weights_and_shares_the_statistics() -> None:
    normalizer = Normalizer((2,))
    network = nn.Sequential(normalizer, nn.Linear(2, 1))
    target = targets.frozen_copy(network)
    assert target[0] is normalizer
    assert target[1].weight is not network[1].weight
    assert torch.equal(target[1].weight, network[1].weight)
    assert not any(p.requires_grad for p in target.parameters())
    assert all(p.requires_grad for p in network.parameters())


# ----------------------------------------------------------------------------------------------- normalisation


def test_moments_of_pieces_are_the_moments_of_the_whole() -> None:
    rows = torch.tensor(np.random.default_rng(0).normal(3.0, 2.0, (100, 2)))
    moments = Moments((2,))
    for piece in (rows[:1], rows[1:40], rows[40:40], rows[40:]):
        moments.update(piece)
    torch.testing.assert_close(moments.mean, rows.mean(0))
    torch.testing.assert_close(moments.deviation(), rows.std(0, correction=0), rtol=1e-7, atol=0)


def test_moments_stay_accurate_over_a_billion_rows() -> None:
    """NUM-3: mean 1e4 and deviation 0.1, where float32 sums or a sum of squares would lose every digit."""
    rows = torch.tensor(np.random.default_rng(0).normal(1e4, 0.1, (1000, 1)))
    moments = Moments((1,))
    moments.update(rows)
    for _ in range(20):
        moments.merge(float(moments.count), moments.mean.clone(), moments.squares.clone())
    moments.update(rows)
    assert moments.count == 1000 * 2**20 + 1000 > 1e9
    torch.testing.assert_close(moments.mean, rows.mean(0), rtol=1e-14, atol=0)
    variance = moments.squares / moments.count
    torch.testing.assert_close(variance, rows.var(0, correction=0), rtol=1e-9, atol=0)


def test_observations_are_centred_scaled_and_clipped_in_float32() -> None:
    # of 1 and 3 the mean is 2 and the deviation 1: 4 -> 2, 100 -> 10 (clipped)
    normalizer = normalizer_for(Box(0, 255, (1,), np.uint8))
    before = normalizer(torch.tensor([[7]], dtype=torch.uint8))
    assert before.tolist() == [[7.0]]
    normalizer.update(torch.tensor([[[1], [3]], [[99], [99]]]), valid=torch.tensor([[True, True], [False, False]]))
    result = normalizer(torch.tensor([[4], [100]], dtype=torch.uint8))
    assert result.dtype == torch.float32
    assert result.squeeze(1).tolist() == pytest.approx([2.0, 10.0])


def test_observations_that_are_choices_are_not_normalised() -> None:
    assert normalizer_for(Discrete(3)) is None


def test_rewards_are_divided_by_the_deviation_of_the_discounted_return() -> None:
    # gamma 0.5, rewards 1, 2 | end | 4: returns 1, 2.5, 4; mean 2.5, variance (2.25 + 0 + 2.25) / 3 = 1.5
    scaler = RewardScaler(1, 0.5)
    scaled = scaler.scale(column(1, 2, 4), flags(0, 1, 0))
    assert scaled.squeeze(1).tolist() == pytest.approx([x / math.sqrt(1.5) for x in (1, 2, 4)])
    # the fourth return goes on from 4: 2 + 0.5*4 = 4; mean 2.875, variance (1.875^2+0.375^2+2*1.125^2)/4 = 1.546875
    assert scaler.scale(column(2), flags(0)).item() == pytest.approx(2 / math.sqrt(1.546875))


def test_a_reward_scaler_goes_on_from_its_state_to_the_bit() -> None:
    windows = torch.tensor(np.random.default_rng(0).standard_normal((3, 4, 2)), dtype=torch.float32)
    ended = torch.zeros(4, 2, dtype=torch.bool)
    one, other = RewardScaler(2, 0.9), RewardScaler(2, 0.9)
    one.scale(windows[0], ended)
    other.load_state(one.state())
    one.scale(windows[1], ended)
    other.scale(windows[1], ended)
    assert torch.equal(one.scale(windows[2], ended), other.scale(windows[2], ended))


def test_a_window_of_other_rows_continues_no_return() -> None:
    scaler = RewardScaler(1, 0.5)
    scaler.scale(column(1, 2, 4), flags(0, 1, 0))
    # returns so far 1, 2.5, 4; those of two rows of one step are 2 and 6: mean 3.1, squares 15.2
    both = scaler.scale(torch.tensor([[2.0, 6.0]]), torch.tensor([[True, True]]))
    assert both.flatten().tolist() == pytest.approx([x / math.sqrt(15.2 / 5) for x in (2, 6)])
    assert scaler.carry.tolist() == [4 * 0.5]


def test_columns_are_not_changed_by_what_is_computed_from_them() -> None:
    reward, decay, ended = column(1, 2, 4).double(), column(0.5, 0.5, 0.5).double(), flags(0, 0, 0)
    discounted_sums(reward, decay)
    scaler = RewardScaler(1, 0.5)
    for _ in range(2):
        scaler.scale(reward, ended)
    assert reward.squeeze(1).tolist() == [1, 2, 4]
    assert decay.squeeze(1).tolist() == [0.5, 0.5, 0.5]


def test_a_step_that_is_not_valid_does_not_count_in_the_scale_of_rewards() -> None:
    one, other = RewardScaler(1, 0.5), RewardScaler(1, 0.5)
    one.scale(column(1, 2, 77, 4), flags(0, 1, 0, 0), valid=flags(1, 1, 0, 1))
    other.scale(column(1, 2, 4), flags(0, 1, 0))
    assert torch.equal(one.moments.squares, other.moments.squares)


def test_returns_that_go_on_where_episodes_end_go_on_over_steps_that_are_not_valid() -> None:
    """gamma 0.5: returns 1, 2.5, 5.25, and 0.5 * 5.25 is left for the next window."""
    one, other = RewardScaler(1, 0.5), RewardScaler(1, 0.5)
    one.scale(column(1, 77, 2), None, valid=flags(1, 0, 1))
    assert one.scale(column(77, 4, 77), None, valid=flags(0, 1, 0)).shape == (3, 1)
    other.scale(column(1, 2, 4), None)
    assert one.moments.mean.item() == pytest.approx((1 + 2.5 + 5.25) / 3)
    assert one.moments.squares.item() == pytest.approx(other.moments.squares.item())
    assert one.carry.tolist() == other.carry.tolist() == [0.5 * 5.25]


# ------------------------------------------------------------------------------------------------------ weights


def test_weights_come_back_to_the_bit_and_own_their_memory() -> None:
    one, other = nn.Linear(3, 2), nn.Linear(3, 2)
    arrays = weights_of(one)
    load_weights(other, arrays)
    assert torch.equal(one.weight, other.weight)
    arrays["weight"][:] = 7
    assert not one.weight.eq(7).any()
    assert not other.weight.eq(7).any()


def test_weights_of_another_shape_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"weight is \(2, 4\) here and \(2, 3\) there"):
        load_weights(nn.Linear(4, 2), weights_of(nn.Linear(3, 2)))
    with pytest.raises(ValueError, match=r"bias is \(2,\) here and missing there"):
        load_weights(nn.Linear(3, 2), weights_of(nn.Linear(3, 2, bias=False)))
