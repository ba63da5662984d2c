"""FlashSAC, and the settings of SAC that it is made of."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from algos.base import Progress
from algos.common.maths.distributions import Bins
from algos.common.maths.gaussian import SquashedGaussian
from algos.common.nets.critics import EnsembleLinear
from algos.common.nets.layers import BatchNorm, batch_statistics
from algos.common.parts.continuous import repeated
from algos.sac.config import Config
from config.model.layers import BatchNorm as BatchNormLayer
from config.model.layers import Linear
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import saved_and_read

SOFT = ("SAC", "TQC", "CrossQ")


def norms(agent: Any) -> dict[str, torch.Tensor]:
    """The norms of the rows of all linear layers."""
    found = {}
    for name, part in agent.networks.named_modules():
        if isinstance(part, torch.nn.Linear | EnsembleLinear):
            found[name] = part.weight.norm(dim=1)
    return found


@pytest.mark.parametrize("algo", [*SOFT, "FlashSAC"])
def test_rows_of_weights_have_norm_one_after_every_step(algo: str) -> None:
    agent = agent_for(algo, normalize_weights=True, policy_freq=1)
    for _ in range(2):
        assert all(torch.allclose(norm, torch.ones(())) for norm in norms(agent).values())
        agent.update(batch_for(algo))
    plain = agent_for(algo, normalize_weights=False, policy_freq=1)
    plain.update(batch_for(algo))
    assert not all(torch.allclose(norm, torch.ones(())) for norm in norms(plain).values())


def test_the_state_goes_on_to_the_bit_with_weights_of_constant_norm() -> None:
    one, other = agent_for("FlashSAC", 1), agent_for("FlashSAC", 2)
    batches = [batch_for("FlashSAC", seed=seed) for seed in range(6)]
    for batch in batches[:3]:
        one.update(batch)
    other.load_state(saved_and_read(one.state()))
    for batch in batches[3:]:
        first, second = one.update(batch).metrics, other.update(batch).metrics
        assert {name: value.item() for name, value in first.items()} == {
            name: value.item() for name, value in second.items()
        }
    weights, same = one.weights(), other.weights()
    assert all((weights[name] == same[name]).all() for name in weights)


def test_both_actions_pass_critics_and_targets_in_one_batch() -> None:
    agent = agent_for("FlashSAC")
    batch = batch_for("FlashSAC")
    noise = agent.policy.noise(16)
    with torch.no_grad():
        after, log_prob = agent.policy.draw(batch["next_obs"], noise)
    both = torch.cat([agent.policy.bounds.to_unit(batch["action"]), after])
    seen = torch.cat([batch["obs"], batch["next_obs"]])
    out, target = agent._outputs(batch, noise)
    with batch_statistics(agent.critic), batch_statistics(agent.target):
        expected, later = agent.critic(seen, both), agent.target(seen, both)
    torch.testing.assert_close(out, expected[:, :16])
    alpha = agent.policy.temperature.alpha()
    wanted = agent.bins.target(later[:, 16:], batch["reward"], batch["discount"], -alpha * log_prob)
    torch.testing.assert_close(target, wanted)
    alone = agent.critic(batch["obs"], both[:16])
    assert not torch.allclose(alone, out), "by the running statistics"


def test_the_policy_learns_by_batch_statistics_and_the_critics_stay_still() -> None:
    agent = agent_for("FlashSAC", policy_freq=1)
    batch = batch_for("FlashSAC")

    def means(network: torch.nn.Module) -> list[torch.Tensor]:
        return [part.mean.clone() for part in network.modules() if isinstance(part, BatchNorm)]

    policy, critic = means(agent.policy.network), means(agent.critic)
    agent._improve(batch["obs"], 16)
    assert not any(torch.equal(a, b) for a, b in zip(policy, means(agent.policy.network), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(critic, means(agent.critic), strict=True))


def test_several_learners_average_the_statistics() -> None:
    agent = agent_for("FlashSAC")
    agent.learners, reduced = 2, []
    agent.reduce = lambda tensors: reduced.extend(id(tensor) for tensor in tensors)
    agent.update(batch_for("FlashSAC"))
    assert {id(part.mean) for part in agent.critic.modules() if isinstance(part, BatchNorm)} <= set(reduced)


def test_the_target_of_bins_is_the_distribution_of_the_lower_critic() -> None:
    """Values -1, 0 and 1: the first critic says 1 and -1 of two states, the second one 0 of both. The states are worth
    0.25 + 0.5 (0 + 0.5) = 0.5, half of it at 0 and half at 1, and 0.25 + 0.5 (-1 + 0.5) = 0."""
    bins, sure = Bins(3, 1.0, torch.device("cpu")), 100.0
    first, second = [[0.0, 0.0, sure], [sure, 0.0, 0.0]], [[0.0, sure, 0.0], [0.0, sure, 0.0]]
    reward, discount, bonus = torch.full((2,), 0.25), torch.full((2,), 0.5), torch.full((2,), 0.5)
    target = bins.target(torch.tensor([first, second]), reward, discount, bonus)
    torch.testing.assert_close(target, torch.tensor([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]))


def test_bins_learn_the_value_of_a_reward() -> None:
    agent = agent_for("SAC", critic_bins=21, critic_range=2.0, critic_lr=3e-2)
    batch = batch_for("SAC", 64) | {"reward": torch.full((64,), 0.7), "discount": torch.zeros(64)}
    for _ in range(60):
        agent.update(batch)
    q = agent._q(agent.critic(batch["obs"], agent.policy.bounds.to_unit(batch["action"])))
    torch.testing.assert_close(q, torch.full((2, 64), 0.7), atol=0.05, rtol=0)


def test_priorities_of_bins_are_errors_of_their_means() -> None:
    agent = agent_for("SAC", critic_bins=21)
    result = agent.update({**batch_for("SAC"), "weight": torch.ones(16)})
    assert result.priorities is not None
    assert result.priorities.shape == (16,)


# exploration ----------------------------------------------------------------------------------------------


def test_noise_stays_for_its_number_of_steps_and_each_row_has_its_own() -> None:
    state, rng = np.zeros((3, 3), np.float32), np.random.default_rng(1)
    lengths: list[int] = []
    for _ in range(4000):
        before, state = state, repeated(state, 4, rng)
        fresh = before[:, -1] == 0
        assert ((before[:, :2] == state[:, :2]).all(1) == ~fresh).all()
        assert (state[~fresh, -1] == before[~fresh, -1] - 1).all()
        lengths += (state[fresh, -1] + 1).astype(int).tolist()
    shares = np.bincount(lengths, minlength=5)[1:] / len(lengths)
    expected = np.array([1, 1 / 4, 1 / 9, 1 / 16])
    assert shares == pytest.approx(expected / expected.sum(), abs=0.02)


def test_repeated_noise_is_carried_by_the_state_of_the_collector() -> None:
    agent = agent_for("SAC", noise_repeat=16, start_steps=0)
    rng, obs = np.random.default_rng(3), np.zeros((2, 3), np.float32)
    state = agent.initial_state(2)
    assert state is not None
    assert state.shape == (2, 3)
    first = agent.sample_action(obs, state, Progress(step=10), rng)
    left = np.array([[2.0], [0.0]], np.float32)
    carried = np.concatenate([first.state[:, :2], left], 1)
    second = agent.sample_action(obs, carried, Progress(step=10), rng)
    assert (second.action[0] == first.action[0]).all(), "two steps are left"
    assert (second.action[1] != first.action[1]).any()
    best = agent.predict_action(obs, carried)
    assert (best.state == carried).all()


def test_the_target_entropy_is_that_of_normal_actions() -> None:
    agent = agent_for("SAC", target_std=0.15)
    assert agent.policy.target_entropy == pytest.approx(2 * (0.5 + 0.5 * math.log(2 * math.pi) + math.log(0.15)))
    assert agent_for("SAC").policy.target_entropy == -2


def test_log_deviations_go_smoothly_to_their_limits() -> None:
    smooth, plain = SquashedGaussian(1, (-10.0, 2.0)), SquashedGaussian(1)
    outputs, noise = np.array([[0.0, 0.0], [0.0, 0.5]], np.float32), np.ones((2, 1), np.float32)
    expected = [math.tanh(math.exp(-4.0)), math.tanh(math.exp(-10 + 6 * (1 + math.tanh(0.5))))]
    assert smooth.with_noise(outputs, noise).flatten().tolist() == pytest.approx(expected)
    drawn, log_prob = smooth.draw(torch.from_numpy(outputs), torch.from_numpy(noise))
    assert drawn.flatten().tolist() == pytest.approx(expected)
    u, log_std = math.exp(-4.0), -4.0
    density = -0.5 - log_std - 0.5 * math.log(2 * math.pi) - math.log(1 - math.tanh(u) ** 2)
    assert log_prob[0].item() == pytest.approx(density, rel=1e-5)
    assert plain.with_noise(outputs[:1], noise[:1]).item() == pytest.approx(math.tanh(1.0))


# refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"noise_repeat": 2, "exploration_type": "ou"}, "ou is a process of its own"),
        ({"target_std": 0.1, "target_entropy": -1.0}, "set one of target_std and target_entropy"),
        ({"normalize_weights": True, "weight_decay": 0.1}, "weight_decay has no effect"),
        ({"calibrate": True, "cql_alpha": 1.0, "normalize_reward": True}, "normalize_reward changes"),
        (
            {"diversity": 1.0, "critic_layers": [BatchNormLayer(), Linear(layer_size=[8])]},
            "batchnorm layers in critics",
        ),
        ({"diversity": 1.0, "n_critics": 1, "target_critics": 1}, "needs two critics"),
        ({"batch_size": 1, "critic_layers": [BatchNormLayer()]}, "more than one transition"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], said: str) -> None:
    assert any(said in problem.message for problem in Config(**settings).problems())
