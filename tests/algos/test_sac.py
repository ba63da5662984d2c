"""SAC and its variants: formulas by hand, the temperature, ensembles of which some judge, dropout in targets."""

import math

import numpy as np
import pytest
import torch

from algos.common.maths.gaussian import SquashedGaussian
from algos.common.nets.critics import copy_members
from algos.sac.losses import policy_loss, soft_target, temperature_gradient
from tests.tools.actor_critic import agent_for, batch_for, target_of
from tests.tools.core import stream, updated


def tensor(*values):
    return torch.tensor(values)


# ----------------------------------------------------------------------------------------------------- formulas


def test_the_target_counts_the_smaller_value_and_the_entropy_that_follows():
    """Haarnoja et al. (2018), equations 2, 3 and 5; the second state is terminal."""
    # 1 + 0.5 (min(2, 3) - 0.2 * -1) = 2.1;  2 + 0
    next_q, log_prob = tensor([2.0, 4.0], [3.0, 1.0]), tensor(-1.0, 0.5)
    target = soft_target(tensor(1.0, 2.0), tensor(0.5, 0.0), next_q, log_prob, torch.tensor(0.2))
    assert target.tolist() == pytest.approx([2.1, 2.0])


@pytest.mark.parametrize(
    ("algo", "settings", "alpha"),
    [
        ("SAC", {}, 0.2),
        ("SAC", {"entropy_backup": False}, 0.0),
        ("CQL", {}, 0.0),
        ("CQL", {"entropy_backup": True}, 0.2),
    ],
)
def test_cql_backs_up_the_value_alone_and_sac_the_entropy_too(algo, settings, alpha):
    """1 + 0.5 (min_i Q_i(s', a') - alpha log pi(a'|s')), for critics that say 2 and 3 of everything."""
    agent = agent_for(algo, alpha=0.2, **settings)
    batch, noise = batch_for(algo), torch.zeros(16, 2)
    batch |= {"reward": torch.ones(16), "discount": torch.full((16,), 0.5)}
    agent.target_subset = lambda obs, action: torch.stack([torch.full((16, 1), 2.0), torch.full((16, 1), 3.0)])
    log_prob = agent.policy.draw(batch["next_obs"], noise)[1]
    assert log_prob.abs().min() > 0.1
    torch.testing.assert_close(agent._target(batch, noise), 1.0 + 0.5 * (2.0 - alpha * log_prob))


def test_the_policy_is_paid_for_its_values_and_its_uncertainty():
    """Haarnoja et al. (2018), equation 7: ((0.5 * 1 - 2) + (0.5 * -1 - 4)) / 2 = -3."""
    log_prob, q = tensor(1.0, -1.0).requires_grad_(), tensor(2.0, 4.0).requires_grad_()
    loss = policy_loss(log_prob, q, torch.tensor(0.5))
    loss.backward()
    assert loss.item() == -3.0
    # JoyRL detached the log probability, which takes the entropy out of the gradient
    assert log_prob.grad.tolist() == [0.25, 0.25]
    assert q.grad.tolist() == [-0.5, -0.5]


def test_alpha_falls_where_there_is_more_entropy_than_asked():
    """Haarnoja et al. (2018), equation 18, with log alpha for alpha: log alpha * ((1 + 3) / 2 - 1) has slope 1."""
    assert temperature_gradient(tensor(1.0, 3.0), 1.0).item() == 1.0


def test_the_density_of_a_squashed_action_is_that_of_the_change_of_variables():
    """Haarnoja et al. (2018), appendix C: log N(u) - sum log(1 - tanh(u)^2)."""
    # mean 0.5, deviation 0.5, noise 1: u = 1; mean 0, deviation 2, noise -0.5: u = -1
    outputs = tensor([0.5, 0.0, math.log(0.5), math.log(2.0)])
    action, log_prob = SquashedGaussian(2).draw(outputs, tensor([1.0, -0.5]))
    assert action.tolist() == [pytest.approx([math.tanh(1), -math.tanh(1)])]
    normal = -0.5 - math.log(0.5) - 0.125 - math.log(2.0) - math.log(2 * math.pi)
    assert log_prob.item() == pytest.approx(normal - 2 * math.log(1 - math.tanh(1) ** 2), rel=1e-5)


def test_the_density_stays_finite_far_out():
    """NUM-1: tanh(30) is 1 in float32; log(1 - tanh(u)^2) is 2 (log 2 - u) there."""
    outputs = tensor([30.0, 0.0]).requires_grad_()
    action, log_prob = SquashedGaussian(1).draw(outputs, tensor([0.0]))
    assert action.item() == 1.0
    expected = -0.5 * math.log(2 * math.pi) - 2 * (math.log(2) - 30)
    assert log_prob.item() == pytest.approx(expected, rel=1e-6)
    log_prob.sum().backward()
    assert torch.isfinite(outputs.grad).all()


def test_acting_and_learning_draw_from_the_same_distribution():
    gaussian, outputs = SquashedGaussian(2), np.tile(np.array([[0.3, -0.2, -1.0, 0.2]], np.float32), (4, 1))
    acted = gaussian.sample(outputs, stream(1, "x"))
    noise = torch.from_numpy(stream(1, "x").standard_normal((4, 2), np.float32))
    learned, _ = gaussian.draw(torch.from_numpy(outputs), noise)
    np.testing.assert_allclose(acted, learned.numpy(), rtol=1e-5)
    np.testing.assert_allclose(gaussian.mode(outputs)[0], np.tanh([0.3, -0.2]), rtol=1e-6)


# ------------------------------------------------------------------------------------------------------- updates


@pytest.mark.parametrize("temperature", [{"alpha": 0.2}, {"alpha": "auto", "alpha_init": 0.2}])
def test_the_losses_are_those_of_the_formulas(temperature):
    """A learned alpha makes its step after both losses."""
    agent, batch = agent_for("SAC", optimizer="sgd", critic_lr=1e-12, **temperature), batch_for("SAC")
    rng = stream(1, "learn")
    first, second = (torch.from_numpy(rng.standard_normal((16, 2), np.float32)) for _ in range(2))
    network, draw = agent.policy.network, agent.policy.distribution.draw
    with torch.no_grad():
        next_action, next_log_prob = draw(network(batch["next_obs"]), first)
        next_q = agent.target(batch["next_obs"], next_action).squeeze(-1)
        target = soft_target(batch["reward"], batch["discount"], next_q, next_log_prob, torch.tensor(0.2))
        unit = torch.stack([batch["action"][:, 0] / 2, batch["action"][:, 1] / 5 - 1], 1)
        critic_loss = ((agent.critic(batch["obs"], unit).squeeze(-1) - target) ** 2).mean(1).sum()
    action, log_prob = draw(network(batch["obs"]), second)
    loss = policy_loss(log_prob, agent.critic(batch["obs"], action).squeeze(-1).amin(0), torch.tensor(0.2))
    expected = torch.autograd.grad(loss, list(network.parameters()))
    seen = []
    agent.reduce = lambda grads: seen.append([grad.clone() for grad in grads])
    metrics = updated(agent, batch).metrics
    assert metrics["critic_loss"].item() == pytest.approx(critic_loss.item(), rel=1e-5)
    assert metrics["actor_loss"].item() == pytest.approx(loss.item(), rel=1e-5)
    assert metrics["entropy"].item() == pytest.approx(-log_prob.mean().item(), rel=1e-5)
    torch.testing.assert_close(seen[1], list(expected))


def test_alpha_is_learned_towards_minus_the_number_of_dimensions_and_saved():
    agent, batch = agent_for("SAC", alpha_lr=0.05), batch_for("SAC")
    assert agent.policy.target_entropy == -2.0
    for _ in range(10):
        metrics = updated(agent, batch).metrics
    assert metrics["entropy"].item() > -2.0
    assert metrics["alpha"].item() < 1.0, "there is more entropy than asked"
    other = agent_for("SAC", seed=2, alpha_lr=0.05)
    other.load_state(agent.state())
    assert other.policy.temperature.alpha() == agent.policy.temperature.alpha()
    assert "temperature.log_alpha" in agent.weights()


def test_a_number_for_alpha_stays():
    agent, batch = agent_for("SAC", alpha=0.3), batch_for("SAC")
    for _ in range(3):
        metrics = updated(agent, batch).metrics
    assert metrics["alpha"].item() == pytest.approx(0.3)
    assert "temperature.log_alpha" not in agent.weights()


# ------------------------------------------------------------------------------------------------------ ensembles


def constants(critic):
    """Make member i say i, whatever it sees."""
    with torch.no_grad():
        output = critic.body[-1]
        output.weight.zero_()
        output.bias.copy_(torch.arange(len(output.bias)).view(-1, 1, 1))


def test_two_of_ten_critics_drawn_anew_judge_each_target():
    """Chen et al. (2021), algorithm 1: the minimum over a random subset of M."""
    agent, batch = agent_for("REDQ", alpha=1e-30), batch_for("REDQ")
    constants(agent.target)
    smallest = []
    for _ in range(60):
        value = (target_of(agent, batch) - batch["reward"])[batch["discount"] > 0] / 0.9
        smallest.append(round(value[0].item()))
    # the smaller of two different numbers of 0..9: never 9, and 0 in a fifth of the draws
    assert set(smallest) <= set(range(9))
    assert len(set(smallest)) > 4


def test_the_chosen_members_are_copied_to_the_subset():
    agent, batch = agent_for("REDQ"), batch_for("REDQ")
    copy_members(agent.target_subset, agent.target, torch.tensor([7, 3]))
    action = torch.zeros(16, 2)
    torch.testing.assert_close(agent.target_subset(batch["obs"], action), agent.target(batch["obs"], action)[[7, 3]])


def test_the_policy_follows_the_mean_or_the_smallest_value():
    for value, expected in (("mean", 4.5), ("min", 0.0)):
        agent, batch = agent_for("REDQ", actor_value=value), batch_for("REDQ")
        constants(agent.critic)
        assert agent._value(batch["obs"], torch.zeros(16, 2)).tolist() == [expected] * 16


def test_dropout_is_active_in_the_targets_of_droq_and_comes_from_the_agents_stream():
    """Hiraoka et al. (2022), algorithm 2."""
    batch, found = batch_for("DroQ"), []
    for seed in (1, 2):
        agent = agent_for("DroQ")
        torch.manual_seed(seed)
        found.append(target_of(agent, batch))
    assert not torch.equal(*found), "the noise of the actions is the same, the zeros are not"
    assert not found[0].requires_grad
    losses = []
    for seed in (5, 6):
        torch.manual_seed(seed)
        losses.append(updated(agent_for("DroQ"), batch).metrics["critic_loss"].item())
    assert losses[0] == losses[1]
