"""TQC: truncation, the distributional target and quantile regression by hand."""

import numpy as np
import pytest
import torch

from algos.tqc.agent import quantile_loss, quantile_target, truncated
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import stream


def tensor(*values):
    return torch.tensor(values)


def test_the_largest_values_of_all_critics_together_are_left_out():
    """Kuznetsov et al. (2020), algorithm 1: the k N smallest atoms of the mixture."""
    # two critics of three quantiles, one sample: 1 2 3 4 5 9 in order; one is dropped for each critic
    quantiles = tensor([[1.0, 5.0, 3.0]], [[2.0, 9.0, 4.0]])
    assert truncated(quantiles, 1).tolist() == [[1.0, 2.0, 3.0, 4.0]]
    assert truncated(quantiles, 0).tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]]


def test_each_atom_is_a_reward_and_what_follows_with_its_entropy():
    """Algorithm 1: y_i = r + gamma (z_i - alpha log pi(a'|s')); the second state is terminal."""
    # 1 + 0.5 (2 + 0.5 * 1) = 2.25; 1 + 0.5 (4 + 0.5) = 3.25
    kept, log_prob = tensor([2.0, 4.0], [7.0, 8.0]), tensor(-1.0, 3.0)
    target = quantile_target(tensor(1.0, 2.0), tensor(0.5, 0.0), kept, log_prob, torch.tensor(0.5))
    assert target.tolist() == [[2.25, 3.25], [2.0, 2.0]]


# quantiles 0 and 1 at the levels 1/4 and 3/4, targets 1/2 and 3. Differences y - z and their penalties:
# 1/2: 1/4 * 1/8;  3: 1/4 * (3 - 1/2);  -1/2: (1 - 3/4) * 1/8;  2: 3/4 * (2 - 1/2)
PAIRS = [0.03125, 0.625, 0.03125, 1.125]


@pytest.mark.parametrize("weight", [None, 1.0, 0.5])
def test_the_loss_is_quantile_regression_over_all_pairs(weight):
    """Dabney et al. (2018), equation 10, with kappa 1."""
    quantiles, target = tensor([[0.0, 1.0]]).requires_grad_(), tensor([0.5, 3.0])
    given = None if weight is None else tensor(weight)
    loss = quantile_loss(quantiles, target, tensor(0.25, 0.75), given)
    loss.backward()
    factor = 1.0 if weight is None else weight
    assert loss.item() == pytest.approx(factor * sum(PAIRS) / 4)
    # the slope of each penalty is its share times the difference held within -1..1
    slopes = [0.25 * 0.5 + 0.25 * 1, 0.25 * -0.5 + 0.75 * 1]
    assert quantiles.grad.flatten().tolist() == pytest.approx([-factor * slope / 4 for slope in slopes])


def test_the_quantiles_of_a_distribution_are_its_minimum():
    """Gradient descent finds the 1/8, 3/8, 5/8 and 7/8 quantiles of the numbers 0..999, up to the Huber corner."""
    levels = (torch.arange(4) + 0.5) / 4
    target = torch.arange(1000.0).view(1, -1)
    quantiles = torch.full((1, 1, 4), 500.0, requires_grad=True)
    for _ in range(300):
        quantile_loss(quantiles, target, levels, None).backward()
        with torch.no_grad():
            quantiles -= 2000 * quantiles.grad
        quantiles.grad = None
    assert quantiles.flatten().tolist() == pytest.approx([125, 375, 625, 875], abs=5)


def test_the_policy_follows_the_mean_over_all_quantiles_of_all_critics():
    """Algorithm 1: two critics that know 1 and 3, and 4 and 8, whatever the action is; the lower mean is 2."""
    agent = agent_for("TQC", n_quantiles=2, drop_quantiles=0, alpha=0.5, optimizer="sgd", critic_lr=1e-9)
    with torch.no_grad():
        for parameter in agent.critic.parameters():
            parameter.zero_()
        agent.critic.body[-1].bias.copy_(tensor([[1.0, 3.0]], [[4.0, 8.0]]))
    metrics = agent.update(batch_for("TQC")).metrics
    # the mean of alpha log pi - Q, with Q = (1 + 3 + 4 + 8) / 4
    assert metrics["actor_loss"].item() == pytest.approx(-0.5 * metrics["entropy"].item() - 4.0, rel=1e-5)


def test_the_losses_are_those_of_the_formulas():
    agent, batch = agent_for("TQC", n_quantiles=5, drop_quantiles=2, alpha=0.2), batch_for("TQC")
    assert agent.levels.tolist() == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    noise = torch.from_numpy(stream(1, "learn").standard_normal((16, 2), np.float32))
    with torch.no_grad():
        next_action, log_prob = agent.policy.distribution.draw(agent.policy.network(batch["next_obs"]), noise)
        kept = truncated(agent.target(batch["next_obs"], next_action), 2)
        assert kept.shape == (16, 6)
        target = quantile_target(batch["reward"], batch["discount"], kept, log_prob, torch.tensor(0.2))
        unit = torch.stack([batch["action"][:, 0] / 2, batch["action"][:, 1] / 5 - 1], 1)
        expected = quantile_loss(agent.critic(batch["obs"], unit), target, agent.levels, None)
    assert agent.update(batch).metrics["critic_loss"].item() == pytest.approx(expected.item(), rel=1e-5)
