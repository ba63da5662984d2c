"""BCQ, DiscreteBCQ, AWAC, CRR, IQL: losses by hand; tasks in which an action that the data never show seems best."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from algos.awac.agent import advantages, weights
from algos.base import Agent, Batch, EnvSpec, Progress
from algos.bcq.agent import autoencoder_loss, perturbed, soft_clipped, td_target
from algos.discretebcq.agent import allowed, imitation_loss
from algos.discretebcq.agent import td_target as double_target
from config.model.layers import mlp
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import agent_of, stream
from tests.tools.paths import in_the_suite

SMALL = mlp(32)
FIRST, SECOND = np.eye(2, dtype=np.float32)
"""Observations of a problem of two steps."""
GAMMA = 0.99


def t(*values: Any) -> torch.Tensor:
    return torch.tensor(values)


# losses ---------------------------------------------------------------------------------------------------


def test_an_action_is_allowed_by_its_probability_relative_to_the_likeliest_one() -> None:
    logits = t([0.6, 0.3, 0.1], [0.5, 0.4, 0.1]).log()
    assert allowed(logits, 0.3).tolist() == [[True, True, False], [True, True, False]]
    assert allowed(logits, 0.55).tolist() == [[True, False, False], [True, True, False]]
    assert allowed(logits, 0.0).all()
    assert allowed(t([0.0, -1e30]), 0.0).tolist() == [[True, False]]


def test_imitation_has_the_cross_entropy_over_legal_actions_and_a_penalty_of_the_logits() -> None:
    logits, action = t([0.0, 0.0, 2.0]), t(1)
    whole = imitation_loss(logits, action, None, 0.5).item()
    assert whole == pytest.approx(math.log(2 + math.e**2) + 0.5 * 4 / 3)
    legal = imitation_loss(logits, action, t([True, True, False]), 0.5).item()
    assert legal == pytest.approx(math.log(2) + 0.5 * 4 / 3)


def test_the_discrete_target_is_the_target_networks_value_of_the_chosen_action() -> None:
    target = double_target(t(1.0, 1.0), t(0.5, 0.0), t([4.0, 8.0], [4.0, 8.0]), t([3.0, 2.0], [0.0, 1.0]))
    assert target.tolist() == [3.0, 1.0]


def test_the_autoencoder_has_the_numbers_of_its_loss() -> None:
    # squares 1 and 0; divergences (4 + 1 - 1) / 2 = 2 and (0 + e^2 - 1) / 2 - 1
    loss = autoencoder_loss(t([1.0, 0.5]), t([0.0, 0.5]), t([2.0, 0.0]), t([0.0, 1.0]), 0.5)
    assert loss.item() == pytest.approx(0.5 + 0.5 * (2 + (math.e**2 - 1) / 2 - 1) / 2)


def test_the_target_is_the_best_soft_minimum_of_the_drawn_actions() -> None:
    """Fujimoto, Meger and Precup (2019), equations 12 and 13."""
    q = t([[1.0, 6.0], [0.0, 3.0]], [[5.0, 2.0], [8.0, 3.0]])
    drawn = soft_clipped(q, 0.75)
    assert drawn.tolist() == [[2.0, 3.0], [2.0, 3.0]]
    assert td_target(t(1.0, 1.0), t(0.5, 0.0), t([2.0, 3.0], [4.0, 3.0])).tolist() == [3.0, 1.0]


def test_a_perturbation_is_small_and_stays_within_the_bounds() -> None:
    action = perturbed(t([0.0, 0.0, 1.0]), t([0.0, 100.0, 100.0]), 0.05)
    assert action[0].tolist() == pytest.approx([0.0, 0.05, 1.0])


def test_advantages_and_weights_have_the_numbers_of_their_equations() -> None:
    q, drawn = t(2.0, 2.0), t([1.0, 0.0], [3.0, 6.0])
    assert advantages(q, drawn, "mean").tolist() == [0.0, -1.0]
    assert advantages(q, drawn, "max").tolist() == [-1.0, -4.0]
    advantage = t(0.0, -1.0, 2.0, 50.0)
    assert weights(advantage, "exp", 2.0, 20.0).tolist() == pytest.approx([1.0, math.exp(-0.5), math.e, 20.0])
    assert weights(advantage, "binary", 2.0, 20.0).tolist() == [0.0, 0.0, 1.0, 1.0]


STILL = {"data": "x", "optimizer": "sgd", "critic_lr": 1e-12, "actor_lr": 1e-12}
"""Settings with which an update leaves the weights as they are, for numbers of all its losses."""


@torch.no_grad()
def apart(target: torch.nn.Module, factor: float) -> None:
    """Makes a target network another one than that which learns."""
    for weight in target.parameters():
        weight.mul_(factor)


def test_an_update_of_iql_has_the_numbers_of_its_equations() -> None:
    """Kostrikov et al. (2022), equations 5 to 7: the target critics say how good an action is."""
    agent, batch = agent_for("IQL", expectile=0.7, beta=3.0, most_weight=1.2, **STILL), batch_for("IQL")
    apart(agent.target, 3.0)
    obs, unit = batch["obs"], agent.bounds.to_unit(batch["action"])
    with torch.no_grad():
        value, next_value = (agent.policy.value({"obs": batch[name]}) for name in ("obs", "next_obs"))
        advantage = agent.target(obs, unit).squeeze(-1).amin(0) - value
        target = batch["reward"] + batch["discount"] * next_value
        errors = agent.critic(obs, unit).squeeze(-1) - target
        mean = agent.policy.actor(obs)[:, :2]  # with a deviation of 1
        log_prob = -(0.5 * (unit - mean).square() + 0.5 * math.log(2 * math.pi)).sum(1)
    weight = (3.0 * advantage).exp().clamp(max=1.2)
    assert (advantage < 0).any()
    assert (weight < 1.2).any()
    assert (weight == 1.2).any()
    metrics = agent.update(batch).metrics
    share = torch.where(advantage < 0, 0.3, 0.7)
    assert metrics["value_loss"].item() == pytest.approx((share * advantage.square()).mean().item(), rel=1e-5)
    assert metrics["critic_loss"].item() == pytest.approx(errors.square().mean(1).sum().item(), rel=1e-5)
    assert metrics["actor_loss"].item() == pytest.approx(-(weight * log_prob).mean().item(), rel=1e-5)


def test_an_update_of_discrete_bcq_chooses_among_the_likely_actions_of_the_next_state() -> None:
    """Fujimoto et al. (2019), section 3: the online networks choose, the target network says what that is worth."""
    settings = {"data": "x", "optimizer": "sgd", "lr": 1e-12, "actor_layers": SMALL, "value_layers": SMALL}
    spec, batch = EnvSpec("x", Box(-np.inf, np.inf, (3,)), Discrete(3), 1), batch_for("SAC_D", 64)
    agent = agent_of("DiscreteBCQ", spec, **settings)
    apart(agent.target, -2.0)
    apart(agent.actor[-1], 5.0)  # some actions become unlikely
    obs, action = batch["obs"], batch["action"].unsqueeze(1)
    with torch.no_grad():
        logits, next_obs = agent.actor(obs), batch["next_obs"]
        probability = agent.actor(next_obs).softmax(1)
        likely = probability / probability.amax(1, keepdim=True) > 0.3
        best = torch.where(likely, agent.critic(next_obs), -math.inf).argmax(1, keepdim=True)
        target = batch["reward"] + batch["discount"] * agent.target(next_obs).gather(1, best).squeeze(1)
        error = (agent.critic(obs).gather(1, action).squeeze(1) - target).abs()
    assert (best.squeeze(1) != agent.critic(next_obs).argmax(1)).any()
    metrics = agent.update(batch).metrics
    huber = torch.where(error < 1, 0.5 * error.square(), error - 0.5).mean()
    imitation = -logits.log_softmax(1).gather(1, action).mean() + 0.01 * logits.square().mean()
    assert metrics["loss"].item() == pytest.approx(huber.item(), rel=1e-5)
    assert metrics["imitation_loss"].item() == pytest.approx(imitation.item(), rel=1e-5)


def test_an_update_of_bcq_asks_the_target_networks_about_clipped_latents() -> None:
    """Fujimoto, Meger and Precup (2019), algorithm 1: noise of the autoencoder, of the target, of the perturbation."""
    agent, batch = agent_for("BCQ", vae_lr=1e-12, target_actions=3, **STILL), batch_for("BCQ")
    apart(agent.targets["actor"], 3.0)
    apart(agent.targets["critic"], 1.5)
    rng, obs, following = stream(1, "learn"), batch["obs"], batch["next_obs"].repeat(3, 1)
    noise, wide, last = (torch.from_numpy(rng.standard_normal((rows, 4), np.float32)) for rows in (16, 48, 16))
    assert wide.abs().max() > 0.5

    def action(obs: torch.Tensor, latent: torch.Tensor, actor: torch.nn.Module) -> torch.Tensor:
        decoded = agent.decoder(obs, latent.clamp(-0.5, 0.5))[0].tanh()
        return (decoded + 0.05 * actor(obs, decoded)[0].tanh()).clamp(-1.0, 1.0)

    with torch.no_grad():
        mean, log_std = agent.encoder(obs, unit := agent.bounds.to_unit(batch["action"]))[0].chunk(2, 1)
        decoded = agent.decoder(obs, mean + log_std.exp() * noise)[0].tanh()
        divergence = 0.5 * (mean.square() + (2 * log_std).exp() - 1) - log_std
        values = agent.targets["critic"](following, action(following, wide, agent.targets["actor"])).squeeze(-1)
        best = (0.75 * values.amin(0) + 0.25 * values.amax(0)).view(3, 16).amax(0)
        errors = agent.critic(obs, unit).squeeze(-1) - (batch["reward"] + batch["discount"] * best)
        value = agent.critic(obs, action(obs, last, agent.actor))[0].mean()
    metrics = agent.update(batch).metrics
    vae_loss = (decoded - unit).square().mean() + 0.5 * divergence.mean()
    assert metrics["vae_loss"].item() == pytest.approx(vae_loss.item(), rel=1e-5)
    assert metrics["critic_loss"].item() == pytest.approx(errors.square().mean(1).sum().item(), rel=1e-5)
    assert metrics["actor_loss"].item() == pytest.approx(-value.item(), rel=1e-5)


# discrete actions -----------------------------------------------------------------------------------------


def choices(algo: str, **settings: Any) -> Agent:
    """Returns an agent of three actions in two states, the third of which has a high value without any data."""
    agent = agent_of(
        algo, EnvSpec("toy", Box(0, 1, (2,)), Discrete(3), 1), value_layers=SMALL, data="x.npz", batch_size=64, lr=5e-3,
        **settings,
    )  # fmt: skip
    with torch.no_grad():
        for network in (agent.critic, agent.target):  # type: ignore[attr-defined]
            network[-1].bias[2] = 10.0
    return agent


def steps_of_choices(rng: np.random.Generator, size: int = 64) -> Batch:
    """Action 0 leads on, to a reward of 1 for another 0; action 1 ends, with 0.5 in the first state."""
    second, action = rng.random(size) < 0.5, rng.integers(2, size=size)
    reward = np.where(second, action == 0, 0.5 * (action == 1)).astype(np.float32)
    goes_on = ~second & (action == 0)
    return {
        "obs": torch.from_numpy(np.where(second[:, None], SECOND, FIRST)),
        "next_obs": torch.from_numpy(np.tile(SECOND, (size, 1))),
        "action": torch.from_numpy(action),
        "reward": torch.from_numpy(reward),
        "discount": torch.from_numpy(GAMMA * goes_on.astype(np.float32)),
    }


def learned(agent: Agent, steps: Any, updates: int, **columns: torch.Tensor) -> Agent:
    rng = np.random.default_rng(3)
    for _ in range(updates):
        agent.update({**steps(rng), **columns})
    return agent


BOTH = np.stack([FIRST, SECOND])


def test_discrete_bcq_chooses_the_best_action_of_the_data_and_learns_its_value() -> None:
    agent = learned(choices("DiscreteBCQ", actor_layers=SMALL, tau=0.05), steps_of_choices, 300)
    assert agent.predict_action(BOTH, None).action.tolist() == [0, 0]
    values = agent.critic(torch.from_numpy(BOTH))  # type: ignore[attr-defined]
    assert values[:, 0].tolist() == pytest.approx([GAMMA, 1.0], abs=0.05)
    drawn = [agent.sample_action(BOTH, None, Progress(), np.random.default_rng(i)).action for i in range(100)]
    assert 0 < np.mean(np.stack(drawn) == 2) < 0.1, "only by the random action of exploration"


def test_without_its_threshold_the_action_without_data_is_chosen() -> None:
    agent = learned(choices("DiscreteBCQ", actor_layers=SMALL, tau=0.05, bcq_threshold=0.0), steps_of_choices, 300)
    assert agent.predict_action(SECOND[None], None).action.tolist() == [2]
    assert agent.critic(torch.from_numpy(FIRST[None]))[0, 0] > 2  # type: ignore[attr-defined]


def test_discrete_bcq_obeys_masks_in_acting_and_in_targets() -> None:
    """How masks come from data and from what is collected: tests/framework/dataset/test_data_masks.py."""
    mask = torch.ones(64, 3, dtype=torch.bool)
    mask[:, 0] = False
    agent = learned(choices("DiscreteBCQ", actor_layers=SMALL, tau=0.05), steps_of_choices, 300, next_action_mask=mask)
    assert agent.predict_action(BOTH, None).action.tolist() == [1, 0], "nothing follows action 0 but action 1"
    legal = np.array([[True, False, True], [False, False, True]])
    assert agent.predict_action(BOTH, None, legal).action.tolist() == [0, 2]


# actions in a Box -----------------------------------------------------------------------------------------


def steps_of_slope(rng: np.random.Generator, size: int = 64) -> Batch:
    """The reward of the second state is the action, scaled to -1..1; the data have none between -0.5 and 0.1, and none
    above 0.4. In the first state nothing depends on it."""
    second, high = rng.random(size) < 0.5, rng.random(size) < 0.5
    action = np.where(high, rng.uniform(0.1, 0.4, size), rng.uniform(-0.9, -0.5, size)).astype(np.float32)
    return {
        "obs": torch.from_numpy(np.where(second[:, None], SECOND, FIRST)),
        "next_obs": torch.from_numpy(np.tile(SECOND, (size, 1))),
        "action": torch.from_numpy(4.0 * action[:, None]),
        "reward": torch.from_numpy(np.where(second, action, 0.0).astype(np.float32)),
        "discount": torch.from_numpy(np.where(second, 0.0, GAMMA).astype(np.float32)),
        "next_action": torch.from_numpy(4.0 * np.roll(action, 1)[:, None]),
        "has_next": torch.from_numpy((~second).astype(np.float32)),
    }


def on_slope(algo: str, updates: int = 600, **settings: Any) -> tuple[float, float]:
    """Returns the action in the second state, scaled to -1..1, and the value of the first one."""
    spec = EnvSpec("toy", Box(0, 1, (2,)), Box(-4.0, 4.0, (1,)), 1)
    rates = {"actor_lr": 3e-3, "critic_lr": 3e-3}
    layers = {"actor_layers": SMALL, "critic_layers": SMALL}
    agent = learned(agent_of(algo, spec, tau=0.05, **rates, **layers, **settings), steps_of_slope, updates)
    first = torch.from_numpy(FIRST[None])
    value = agent.critic(first, torch.zeros(1, 1)).mean().item()  # type: ignore[attr-defined]
    return float(agent.predict_action(SECOND[None], None).action[0, 0]) / 4.0, value


SLOPES: list[tuple[str, dict[str, Any]]] = [
    ("BCQ", {"vae_layers": SMALL, "vae_lr": 3e-3}),
    ("AWAC", {"temperature": 0.1}),
    ("CRR", {}),
    ("CRR", {"weights": "exp", "advantage_baseline": "max", "temperature": 0.1}),
    ("ReBRAC", {"bc_actor": 4.0}),
    ("FQL", {"normalize_q": True, "distill_alpha": 3.0}),
]
"""FQL acts from the noise 0, which lies between the two groups of actions: the value must decide."""


@pytest.mark.long
@pytest.mark.parametrize(("algo", "settings"), in_the_suite(SLOPES, SLOPES[0], SLOPES[1], SLOPES[3]))
def test_the_best_action_of_the_data_is_chosen_and_valued(algo: str, settings: dict[str, Any]) -> None:
    updates = 600 if algo in ("BCQ", "FQL") else 300
    action, value = on_slope(algo, updates, data="x.npz", **settings)
    assert 0.1 < action < 0.5
    assert 0.1 * GAMMA < value < 0.5 * GAMMA


@pytest.mark.long
@pytest.mark.parametrize(
    ("algo", "settings"),
    [("AWAC", {}), ("CRR", {}), ("IQL", {}), ("BC", {}), ("BC", {"head": "mixture", "components": 2})],
)
def test_actions_that_are_all_the_same_leave_the_policy_a_spread(algo: str, settings: dict[str, Any]) -> None:
    """At a bound, the mean of AWAC is exact, and nothing else would keep the density of the action from growing."""
    spec = EnvSpec("toy", Box(0, 1, (2,)), Box(-4.0, 4.0, (1,)), 1)
    rates = {"lr": 0.05} if algo == "BC" else {"actor_lr": 0.05, "critic_layers": SMALL}
    layers = {"actor_layers": SMALL, "log_std_min": -2.0}
    agent = agent_of(algo, spec, data="x.npz", **rates, **layers, **settings)
    steps = {"obs": torch.rand(32, 2), "reward": torch.zeros(32), "discount": torch.full((32,), 0.9)}
    steps |= {"next_obs": steps["obs"], "action": torch.full((32, 1), 4.0)}
    for _ in range(200):
        agent.update(steps)
    assert torch.stack(agent.log_stds).min().item() == pytest.approx(-2.0, abs=0.5)  # type: ignore[attr-defined]
    assert torch.stack(agent.log_stds).min() >= -2.0  # type: ignore[attr-defined]
    other = {**steps, "action": torch.full((32, 1), -4.0)}
    assert all(value.isfinite() for value in agent.update(other).metrics.values())


@pytest.mark.long
def test_without_a_constraint_the_action_without_data_is_chosen() -> None:
    action, value = on_slope("TD3")
    assert action > 0.9
    assert value > 0.6


def test_bcq_acts_the_same_every_time_and_draws_while_it_collects() -> None:
    spec = EnvSpec("toy", Box(0, 1, (2,)), Box(-4.0, 4.0, (1,)), 1)
    agent, other = (agent_of("BCQ", spec, seed, data="x.npz", kl_weight=0.0) for seed in (1, 2))
    learned(agent, steps_of_slope, 20)
    best = agent.predict_action(BOTH, None).action
    assert np.array_equal(best, agent.predict_action(BOTH, None).action)
    assert not np.array_equal(agent.fixed, other.fixed)  # type: ignore[attr-defined]
    other.load_weights(agent.weights())
    assert np.array_equal(best, other.predict_action(BOTH, None).action)
    rng = np.random.default_rng(1)
    drawn = [agent.sample_action(BOTH, None, Progress(), rng).action for _ in range(2)]
    assert not np.array_equal(*drawn)
    assert all((np.abs(action) <= 4).all() for action in drawn)
