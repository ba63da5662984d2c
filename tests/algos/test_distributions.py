"""Distributions over actions: numbers computed by hand, and acting against learning."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from torch import nn

from algos.common.maths.distributions import distribution_for
from algos.common.maths.exploration import masked
from algos.common.maths.gaussian import HALF_LOG_TAU
from algos.common.parts.continuous import Bounds

SPACES = {
    "discrete": Discrete(3, start=5),
    "multi_discrete": MultiDiscrete([2, 4, 1], start=[0, 3, 0]),
    "multi_discrete_square": MultiDiscrete([[2, 3], [3, 2]]),
    "multi_binary": MultiBinary((2, 2)),
    "box": Box(-1, 1, (2, 3), np.float32),
}


def outputs_of(space: object, rows: int, seed: int = 0) -> np.ndarray:
    distribution = distribution_for(space)  # type: ignore[arg-type]
    raw = torch.tensor(np.random.default_rng(seed).standard_normal((rows, distribution.outputs)), dtype=torch.float32)
    return nn.Sequential(*distribution.tail(-0.3))(raw).detach().numpy()


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_acting_and_learning_agree_on_the_log_probability(space: object) -> None:
    distribution = distribution_for(space)  # type: ignore[arg-type]
    outputs = outputs_of(space, 64)
    action, log_prob = distribution.sample(outputs, np.random.default_rng(1))
    again = distribution.log_prob(torch.tensor(outputs), torch.tensor(action))
    assert log_prob.shape == (64,)
    np.testing.assert_allclose(again.numpy(), log_prob, rtol=1e-4, atol=1e-5)
    assert distribution.entropy(torch.tensor(outputs)).shape == (64,)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_the_environment_accepts_what_is_sampled_and_what_is_likeliest(space: object) -> None:
    distribution = distribution_for(space)  # type: ignore[arg-type]
    outputs = outputs_of(space, 32)
    for action in (distribution.sample(outputs, np.random.default_rng(1))[0], distribution.mode(outputs)):
        assert all(space.contains(row) for row in distribution.to_env(action))  # type: ignore[attr-defined]


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_a_call_draws_the_same_randomness_whatever_the_outputs_are(space: object) -> None:
    distribution = distribution_for(space)  # type: ignore[arg-type]
    after = []
    for outputs in (outputs_of(space, 8), 20 * outputs_of(space, 8, seed=3)):
        rng = np.random.default_rng(1)
        distribution.sample(outputs.astype(np.float32), rng)
        after.append(rng.random())
    assert after[0] == after[1]


def test_a_categorical_has_its_probabilities_entropy_and_frequencies() -> None:
    # logits ln 1, ln 2, ln 5: probabilities 1/8, 2/8, 5/8; actions are counted from 5
    distribution = distribution_for(SPACES["discrete"])
    p = np.array([1, 2, 5]) / 8
    outputs = np.log(np.tile([1.0, 2.0, 5.0], (40_000, 1))).astype(np.float32)
    row = torch.tensor(outputs[:1])
    assert distribution.log_prob(row, torch.tensor([7])).item() == pytest.approx(math.log(5 / 8))
    assert distribution.entropy(row).item() == pytest.approx(-(p * np.log(p)).sum())
    action, _ = distribution.sample(outputs, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(action - 5) / 40_000, p, atol=0.01)
    assert distribution.mode(outputs)[0] == 7


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2.0**-53])
def test_an_action_of_probability_zero_is_never_drawn(uniform: float) -> None:
    class Extreme:
        def random(self, shape: tuple[int, ...]) -> np.ndarray:
            return np.full(shape, uniform)

    outputs = np.array([[-np.inf, 0.3, 0.1, -np.inf]], np.float32)
    action, _ = distribution_for(Discrete(4)).sample(outputs, Extreme())  # type: ignore[arg-type]
    assert action[0] in (1, 2)


def test_a_multi_categorical_is_the_product_of_its_places() -> None:
    # places of 2 and 3: probabilities (1/4, 3/4) and (1/6, 2/6, 3/6)
    distribution = distribution_for(MultiDiscrete([2, 3]))
    outputs = torch.log(torch.tensor([[1.0, 3.0, 1.0, 2.0, 3.0]]))
    assert distribution.log_prob(outputs, torch.tensor([[1, 0]])).item() == pytest.approx(math.log(3 / 4 / 6))
    p, q = np.array([1, 3]) / 4, np.array([1, 2, 3]) / 6
    expected = -(p * np.log(p)).sum() - (q * np.log(q)).sum()
    assert distribution.entropy(outputs).item() == pytest.approx(expected)
    many = np.repeat(outputs.numpy(), 40_000, 0)
    action, _ = distribution.sample(many, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(action[:, 1]) / 40_000, q, atol=0.01)


def test_places_of_different_sizes_give_finite_gradients_of_the_entropy() -> None:
    outputs = torch.zeros(1, 6, requires_grad=True)
    distribution_for(MultiDiscrete([2, 4])).entropy(outputs).sum().backward()
    assert torch.isfinite(outputs.grad).all()  # type: ignore[arg-type]


def test_a_bernoulli_has_its_probabilities_entropy_and_frequencies() -> None:
    # logits ln 3 and 0: probabilities of a 1 are 3/4 and 1/2
    distribution = distribution_for(MultiBinary(2))
    outputs = torch.tensor([[math.log(3.0), 0.0]])
    assert distribution.log_prob(outputs, torch.tensor([[0, 1]])).item() == pytest.approx(math.log(1 / 4 * 1 / 2))
    expected = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) + math.log(2)
    assert distribution.entropy(outputs).item() == pytest.approx(expected)
    action, _ = distribution.sample(np.repeat(outputs.numpy(), 40_000, 0), np.random.default_rng(0))
    np.testing.assert_allclose(action.mean(0), [0.75, 0.5], atol=0.01)


def test_a_space_says_how_many_ones_are_likely_and_that_an_action_has_one() -> None:
    space: Any = MultiBinary(8)
    space.likely, space.never_empty = 2.0, True
    distribution = distribution_for(space)
    shifted = torch.nn.Sequential(*distribution.tail(0.0))(torch.zeros(1, 8)).numpy()
    assert shifted == pytest.approx(math.log(2 / 6))  # each is 1 with probability 2/8
    action, _ = distribution.sample(np.repeat(shifted, 40_000, 0), np.random.default_rng(0))
    assert action.sum(1).mean() == pytest.approx(2.0, abs=0.02)
    outputs = np.array([[-3, -1, -2, -4, -5, -6, -7, -8], [1, -1, 2, -1, -1, -1, -1, -1]], np.float32)
    assert distribution.mode(outputs).tolist() == [[0, 1, 0, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0, 0, 0]]
    zeros = distribution.masked(outputs, np.tile([True, False], (2, 8)))
    assert not distribution.mode(zeros).any(), "each place must be 0"
    assert not distribution.best(torch.from_numpy(zeros)).any()
    assert distribution_for(MultiBinary(8)).tail(0.0) == []
    assert not distribution_for(MultiBinary(8)).mode(outputs)[0].any()


def test_a_dimension_without_extent_is_0_for_a_policy() -> None:
    """Its bounds are equal, and what was given there is the bound."""
    distribution = distribution_for(Box(np.array([-2.0, 3.0]), np.array([2.0, 3.0]), dtype=np.float64))
    assert distribution.from_env(torch.tensor([[1.0, 3.0]])).tolist() == [[0.5, 0.0]]
    bounds = Bounds(Box(-1.0, 1.0, (0,)), torch.device("cpu"))
    assert bounds.to_env(np.zeros((3, 0))).shape == bounds.bounded(torch.zeros(3, 0)).shape == (3, 0)


def test_a_gaussian_has_its_density_entropy_mean_and_deviation() -> None:
    # mean 1, deviation 2, action 4: -0.5 * 1.5^2 - ln 2 - 0.5 ln(2 pi)
    distribution = distribution_for(Box(-1, 1, (1,), np.float32))
    outputs = torch.tensor([[1.0, math.log(2.0)]])
    expected = -1.125 - math.log(2) - HALF_LOG_TAU
    assert distribution.log_prob(outputs, torch.tensor([[4.0]])).item() == pytest.approx(expected)
    assert distribution.entropy(outputs).item() == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 4))
    action, _ = distribution.sample(np.repeat(outputs.numpy(), 40_000, 0), np.random.default_rng(0))
    assert action.mean() == pytest.approx(1, abs=0.05)
    assert action.std() == pytest.approx(2, abs=0.05)


def test_only_the_environment_gets_a_clipped_action_and_only_at_finite_bounds() -> None:
    distribution = distribution_for(Box(np.array([-1, -np.inf], np.float32), np.array([1, np.inf], np.float32)))
    outputs = np.array([[50.0, -50.0, -5.0, -5.0]], np.float32)
    action, _ = distribution.sample(outputs, np.random.default_rng(0))
    assert action[0, 0] > 40
    assert distribution.to_env(action)[0, 0] == 1
    assert distribution.to_env(action)[0, 1] == action[0, 1]


def test_the_log_deviation_is_one_parameter_for_all_states_and_gets_a_gradient() -> None:
    distribution = distribution_for(Box(-1, 1, (2,), np.float32))
    network = nn.Sequential(nn.Linear(3, 2), *distribution.tail(-0.5))
    outputs = network(torch.randn(4, 3))
    assert outputs[:, 2:].eq(-0.5).all()
    distribution.entropy(outputs).sum().backward()
    assert network[1].log_std.grad.tolist() == [4.0, 4.0]


# -------------------------------------------------------------------------------------------------- divergence


def kl_of(space: object, old: list[float], new: list[float]) -> float:
    return distribution_for(space).kl(torch.tensor([old]), torch.tensor([new])).item()  # type: ignore[arg-type]


def test_divergences_have_the_numbers_of_their_formulas() -> None:
    """sum p ln(p / q); for normal distributions ln(s'/s) + (s^2 + (m - m')^2) / (2 s'^2) - 1/2."""
    ln = math.log
    # (1/8, 2/8, 5/8) to (1/3, 1/3, 1/3)
    expected = sum(p * ln(3 * p) for p in (1 / 8, 2 / 8, 5 / 8))
    assert kl_of(Discrete(3), [0.0, ln(2), ln(5)], [1.0, 1.0, 1.0]) == pytest.approx(expected)
    # places of 2 and 3: (1/4, 3/4) to (1/2, 1/2), and the three above
    first = 1 / 4 * ln(1 / 2) + 3 / 4 * ln(3 / 2)
    together = kl_of(MultiDiscrete([2, 3]), [0.0, ln(3), 0.0, ln(2), ln(5)], [0.0] * 5)
    assert together == pytest.approx(first + expected)
    # a 1 with probability 3/4 to one with 1/2, and a place that stays
    assert kl_of(MultiBinary(2), [ln(3), -1.0], [0.0, -1.0]) == pytest.approx(first, rel=1e-5)
    # mean 1, deviation 2 to mean 0, deviation 1: ln(1/2) + 5/2 - 1/2; the second place stays
    assert kl_of(Box(-1, 1, (2,), np.float32), [1.0, 3.0, ln(2), -1.0], [0.0, 3.0, 0.0, -1.0]) == pytest.approx(
        2 - ln(2)
    )


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_a_divergence_is_the_mean_log_ratio_and_0_from_itself(space: object) -> None:
    distribution = distribution_for(space)  # type: ignore[arg-type]
    old, new = (torch.tensor(outputs_of(space, 1, seed)) for seed in (1, 2))
    many = old.expand(100_000, -1)
    action = torch.tensor(distribution.sample(many.numpy(), np.random.default_rng(0))[0])
    ratio = distribution.log_prob(many, action) - distribution.log_prob(new.expand_as(many), action)
    assert distribution.kl(old, new).item() == pytest.approx(ratio.mean().item(), rel=0.03)
    moving = old.clone().requires_grad_()
    distribution.kl(old, moving).sum().backward()
    assert distribution.kl(old, old).item() == pytest.approx(0, abs=1e-6)
    torch.testing.assert_close(moving.grad, torch.zeros_like(old), atol=1e-6, rtol=0)


# ------------------------------------------------------------------------------------------------------- masks

LOGITS = np.log(np.array([[1.0, 2.0, 5.0], [1.0, 2.0, 5.0]])).astype(np.float32)
LEGAL = np.array([[True, True, False], [True, False, True]])


def test_an_illegal_action_has_probability_0_and_the_others_share_its_part() -> None:
    # of 1, 2, 5 the legal ones: 1/3, 2/3 and 1/6, 5/6
    distribution = distribution_for(Discrete(3))
    outputs = masked(torch.tensor(LOGITS), torch.tensor(LEGAL))
    p = [[1 / 3, 2 / 3, 0], [1 / 6, 0, 5 / 6]]
    log_prob = torch.stack([distribution.log_prob(outputs, torch.full((2,), action)) for action in range(3)], 1)
    torch.testing.assert_close(log_prob.exp(), torch.tensor(p))
    assert (log_prob.exp().numpy()[~LEGAL] == 0).all()
    expected = [-sum(q * math.log(q) for q in row if q) for row in p]
    assert distribution.entropy(outputs).tolist() == pytest.approx(expected)
    # to the even choice between the legal ones: sum p ln(2 p)
    even = masked(torch.zeros(2, 3), torch.tensor(LEGAL))
    divergence = [sum(q * math.log(2 * q) for q in row if q) for row in p]
    assert distribution.kl(outputs, even).tolist() == pytest.approx(divergence)


def test_no_gradient_flows_into_an_illegal_action() -> None:
    distribution, logits = distribution_for(Discrete(3)), torch.tensor(LOGITS, requires_grad=True)
    outputs = masked(logits, torch.tensor(LEGAL))
    log_prob = distribution.log_prob(outputs, torch.tensor([0, 0]))
    divergence = distribution.kl(masked(torch.zeros(2, 3), torch.tensor(LEGAL)), outputs)
    (log_prob + distribution.entropy(outputs) + divergence).sum().backward()
    assert logits.grad is not None
    assert (logits.grad.numpy()[~LEGAL] == 0).all()
    assert (logits.grad.numpy()[LEGAL] != 0).all()


def test_acting_with_a_mask_draws_and_prefers_legal_actions_only() -> None:
    distribution = distribution_for(Discrete(3, start=5))
    outputs = masked(np.repeat(LOGITS, 5000, 0), np.repeat(LEGAL, 5000, 0))
    assert outputs.dtype == np.float32
    action, log_prob = distribution.sample(outputs, np.random.default_rng(0))
    assert np.bincount(action[:5000] - 5, minlength=3)[2] == 0
    np.testing.assert_allclose(np.bincount(action[5000:] - 5) / 5000, [1 / 6, 0, 5 / 6], atol=0.02)
    again = distribution.log_prob(torch.tensor(outputs), torch.tensor(action))
    np.testing.assert_allclose(again.numpy(), log_prob, rtol=1e-5)
    assert distribution.mode(outputs)[[0, 5000]].tolist() == [6, 7]


def test_without_a_mask_nothing_is_touched() -> None:
    assert masked(LOGITS, None) is LOGITS


def test_a_space_without_a_distribution_is_named() -> None:
    with pytest.raises(ValueError, match="no distribution over Dict"):
        distribution_for(Dict({"a": Discrete(2)}))
