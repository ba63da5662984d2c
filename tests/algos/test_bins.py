"""Critics that learn the probabilities of values: projection, target, loss, and scaled rewards."""

import math
from collections.abc import Callable

import pytest
import torch

from algos.common.maths.distributions import Bins, project, scattered


def t(*values: object) -> torch.Tensor:
    return torch.tensor(values)


BINS = Bins(3, 1.0, torch.device("cpu"))
"""The values -1, 0 and 1."""


def test_the_value_is_the_mean_of_the_bins() -> None:
    assert BINS.mean(t(0.25, 0.25, 0.5).log()).item() == pytest.approx(0.25)


def test_the_first_distribution_is_normal_with_a_quarter_of_the_limit() -> None:
    wide = Bins(401, 2.0, torch.device("cpu"))
    share = wide.first_bias().softmax(0)
    assert wide.mean(wide.first_bias()).item() == pytest.approx(0.0, abs=1e-6)
    assert (share @ wide.support.square()).sqrt().item() == pytest.approx(0.5, rel=0.01)


def test_a_value_between_two_bins_is_shared_by_its_distance() -> None:
    # 0.25 is three quarters at 0 and one at 1; 5 is at the edge
    spread = scattered(t([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), t([0.25, 0.0, 0.0], [5.0, 0.0, 0.0]), BINS.support)
    assert spread.tolist() == [[0.0, 0.75, 0.25], [0.0, 0.0, 1.0]]


def test_both_projections_are_one() -> None:
    generator = torch.Generator().manual_seed(1)
    probability = torch.rand((20, 7), generator=generator).softmax(1)
    atoms, support = 4 * torch.randn((20, 7), generator=generator), torch.linspace(-3, 3, 7)
    torch.testing.assert_close(
        scattered(probability, atoms, support), project(probability, atoms, support), atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("projection", [project, scattered])
def test_a_support_far_from_zero_holds_the_whole_mass(projection: Callable[..., torch.Tensor]) -> None:
    """Neighbors such as 1000 and 1000.1 differ by 0.1 only to three digits."""
    support = torch.linspace(1000, 1010, 101)
    spread = projection(torch.full((1, 101), 1 / 101), torch.full((1, 101), 1010.0), support)
    torch.testing.assert_close(spread, torch.eye(101)[-1:], atol=1e-5, rtol=0)


def test_the_target_is_the_distribution_of_the_critic_with_the_smaller_mean() -> None:
    low, high = t(0.5, 0.5, 0.0), t(0.0, 0.0, 1.0)
    logits = torch.stack([high, low]).unsqueeze(1).clamp(min=1e-30).log()
    # 0.5 + 0.5 (z + 0.5) for z = -1 and 0: 0.25 and 0.75, each with one half
    target = BINS.target(logits, t(0.5), t(0.5), t(0.5))
    assert target.tolist() == [pytest.approx([0.0, 0.5, 0.5])]
    # after a terminal state the reward alone
    assert BINS.target(logits, t(-0.5), t(0.0), t(0.5)).tolist() == [pytest.approx([0.5, 0.5, 0.0])]


def test_the_loss_is_the_cross_entropy_summed_over_critics() -> None:
    target, logits = t([0.0, 0.5, 0.5]), torch.stack([t([0.25, 0.25, 0.5]), t([0.5, 0.25, 0.25])]).log()
    first, second = 0.5 * math.log(4) + 0.5 * math.log(2), math.log(4)
    assert BINS.loss(logits, target, None).item() == pytest.approx(first + second)
    assert BINS.loss(logits, target, t(2.0)).item() == pytest.approx(2 * (first + second))
