"""ReBRAC, EDAC, CalQL and FQL: their losses by hand; the value of a policy by fitted Q evaluation."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary

from algos.base import EnvSpec
from algos.common.parts import fitted_q
from algos.common.parts.fitted_q import FittedQ, tau_for
from algos.fql.agent import between, flow_loss, policy_loss
from algos.rebrac.config import Config
from algos.sac.losses import similarity
from algos.td3.agent import penalized_loss, squared_distance
from config.model.layers import LayerNorm, Linear
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import agent_of, stream


def t(*values: Any) -> torch.Tensor:
    return torch.tensor(values)


# ReBRAC ---------------------------------------------------------------------------------------------------


def test_the_policys_penalty_is_beside_a_value_of_mean_size_one() -> None:
    distance = squared_distance(t([0.5, 0.0], [0.0, -1.0]), t([0.0, 1.0], [0.0, 0.0]))
    assert distance.tolist() == [1.25, 1.0]
    # the smaller values are 2 and -6, of mean size 4: 0.1 * 1.125 - (2 - 6) / 2 / 4
    q = t([2.0, 0.0], [3.0, -6.0])
    assert penalized_loss(q, distance, 0.1).item() == pytest.approx(0.1125 + 0.5)


def test_targets_are_lower_where_the_next_action_is_not_that_of_the_data() -> None:
    agent = agent_for("ReBRAC", data="x", policy_noise=0.0, bc_critic=0.5)
    plain = agent_for("ReBRAC", data="x", policy_noise=0.0, bc_critic=0.0)
    batch = batch_for("TD3")
    chosen = plain.target_actor(batch["next_obs"])
    batch |= {"next_action": batch["action"].clone(), "has_next": (torch.arange(16) < 8).float()}
    distance = (chosen - agent.bounds.to_unit(batch["next_action"])).square().sum(1)
    lower = plain._target(batch, None) - agent._target(batch, None)
    torch.testing.assert_close(lower, 0.5 * batch["discount"] * distance * batch["has_next"])
    assert not torch.allclose(lower, torch.zeros(16))


def test_the_memory_has_the_next_action_only_if_the_target_needs_it() -> None:
    assert Config(data="x").memory(1).next_action
    assert not Config(data="x", bc_critic=0.0).memory(1).next_action
    (problem,) = Config(data="x", bc_alpha=2.5).problems()
    assert problem.key == "bc_actor"
    assert "another weight of the same distance" in problem.message


# EDAC and CalQL -------------------------------------------------------------------------------------------


def test_similarity_is_the_mean_cosine_of_the_critics_gradients() -> None:
    # critics (1, 0), (0, 2) and (3, 3) / any length: cosines 0, and twice 1 / sqrt(2); both orders, divided by two
    slopes = t([[1.0, 0.0]], [[0.0, 2.0]], [[3.0, 3.0]])
    assert similarity(slopes).item() == pytest.approx(2 * 2 * math.sqrt(0.5) / 2)
    assert similarity(t([[2.0]], [[5.0]])).item() == pytest.approx(2.0)


def test_the_slopes_are_those_of_each_critic_alone() -> None:
    agent = agent_for("EDAC", data="x", n_critics=3)
    batch = batch_for("SAC")
    slopes = agent._slopes(batch)
    for i in range(3):
        action = agent.policy.bounds.to_unit(batch["action"]).requires_grad_()
        agent.critic(batch["obs"], action)[i].sum().backward()
        torch.testing.assert_close(slopes[i], action.grad)


def test_diverse_critics_grow_apart() -> None:
    batch = batch_for("SAC", 64)
    last = {}
    for weight in (0.0, 20.0):
        agent = agent_for("EDAC", data="x", n_critics=4, diversity=weight, critic_lr=3e-3)
        for _ in range(60):
            agent.update(batch)
        last[weight] = similarity(agent._slopes(batch)).item()
    assert last[20.0] < last[0.0] - 0.5


def test_values_of_drawn_actions_are_not_pushed_below_the_returns_of_the_data() -> None:
    agent, plain = (agent_for(algo, data="x", cql_actions=2, reward_scale=0.5) for algo in ("CalQL", "CQL"))
    batch = batch_for("SAC")
    above = {**batch, "to_go": torch.full((16,), 100.0)}
    values, density = agent._drawn(above)
    usual, other = plain._drawn(batch)
    assert (values[:, :4] == 50.0).all(), "those of the policy, in this state and in the next one"
    torch.testing.assert_close(values[:, 4:], usual[:, 4:])
    torch.testing.assert_close(density, other)
    below = agent_for("CalQL", data="x", cql_actions=2)._drawn({**batch, "to_go": torch.full((16,), -math.inf)})
    torch.testing.assert_close(below[0], usual)


@pytest.mark.parametrize("space", [Discrete(5), MultiBinary(4)])
def test_the_density_of_uniform_actions_does_not_have_the_type_of_observations(space: Any) -> None:
    spec = EnvSpec("toy", space, Box(-1.0, 1.0, (1,)), 1)
    agent = agent_of("CQL", spec, data="x")
    obs = torch.from_numpy(np.stack([space.sample() for _ in range(3)]))
    _, density = agent._drawn({"obs": obs, "next_obs": obs})
    assert density[-1].tolist() == pytest.approx([-math.log(2.0)] * 3)


def test_values_are_pushed_down_for_actions_of_the_policy_in_both_states_and_for_uniform_ones() -> None:
    """Kumar et al. (2020), appendix F: all are valued in s, those of s' too; the densities are those they came from."""
    agent, batch, rng = agent_for("CQL", data="x", cql_actions=3), batch_for("CQL"), stream(1, "learn")
    uniform = torch.from_numpy(rng.uniform(-1.0, 1.0, (48, 2)).astype(np.float32))
    noises = [torch.from_numpy(rng.standard_normal((48, 2), np.float32)) for _ in range(2)]
    values, densities = agent._drawn(batch)
    obs = batch["obs"].repeat(3, 1)
    here, there = (
        agent.policy.draw(batch[name].repeat(3, 1), noise)
        for name, noise in zip(("obs", "next_obs"), noises, strict=True)
    )
    drawn = [here, there, (uniform, torch.full((48,), -2 * math.log(2.0)))]
    for at, (action, density) in enumerate(drawn):
        rows = slice(3 * at, 3 * at + 3)
        torch.testing.assert_close(values[:, rows].flatten(1), agent.critic(obs, action).squeeze(-1))
        torch.testing.assert_close(densities[rows].flatten(), density)


# FQL ------------------------------------------------------------------------------------------------------


def test_the_way_from_noise_to_an_action_is_straight() -> None:
    place, velocity = between(t([1.0, -1.0]), t([0.0, 1.0]), t([0.25]))
    assert place.tolist() == [[0.75, -0.5]]
    assert velocity.tolist() == [[-1.0, 2.0]]
    assert flow_loss(t([0.0, 2.0]), velocity[0]).item() == 0.5


def test_the_policy_is_pulled_towards_high_values() -> None:
    q = t(2.0, -6.0)
    assert policy_loss(q, normalized=False).item() == 2.0
    assert policy_loss(q, normalized=True).item() == 0.5


def test_a_flow_goes_by_steps_of_its_velocity() -> None:
    agent = agent_for("FQL", data="x", flow_steps=4)
    with torch.no_grad():
        for weight in agent.flow.parameters():
            weight.zero_()
        agent.flow.body[-1].bias.copy_(t([[0.5, 3.0]]))
    noise = torch.zeros(1, 2)
    assert agent._flown(torch.zeros(1, 3), noise).tolist() == [[0.5, 1.0]], "within the cube"


def test_an_update_has_the_losses_of_the_formulas() -> None:
    """Park et al. (2025): noise of the target's action, the time on a way, the way's beginning, the policy's noise."""
    agent = agent_for("FQL", data="x", flow_steps=2, distill_alpha=3.0, optimizer="sgd", critic_lr=1e-12)
    batch, rng = batch_for("FQL"), stream(1, "learn")
    obs, wide = batch["obs"], torch.Generator().manual_seed(1)
    with torch.no_grad():  # so wide that actions leave the cube
        for network in (agent.actor, agent.flow):
            network.body[-1].weight.normal_(0.0, 1.0, generator=wide)
    first, time = rng.standard_normal((16, 2), np.float32), rng.random((16, 1), np.float32)
    start, noise = (torch.from_numpy(rng.standard_normal((16, 2), np.float32)) for _ in range(2))
    share = torch.from_numpy(time)
    with torch.no_grad():
        action = agent.actor(batch["next_obs"], torch.from_numpy(first))[0].clamp(-1.0, 1.0)
        target = batch["reward"] + batch["discount"] * agent.target(batch["next_obs"], action).squeeze(-1).mean(0)
        unit = agent.bounds.to_unit(batch["action"])
        errors = agent.critic(obs, unit).squeeze(-1) - target
        place = (1 - share) * start + share * unit
        flow = (agent.flow(obs, torch.cat([place, share], 1))[0] - (unit - start)).square().mean()
        half = noise + 0.5 * agent.flow(obs, torch.cat([noise, torch.zeros(16, 1)], 1))[0]
        end = half + 0.5 * agent.flow(obs, torch.cat([half, torch.full((16, 1), 0.5)], 1))[0]
        output = agent.actor(obs, noise)[0]
        assert min(output.abs().max(), end.abs().max()) > 1.0
        distance = (output - end.clamp(-1.0, 1.0)).square().mean()
        value = -agent.critic(obs, output.clamp(-1.0, 1.0)).squeeze(-1).mean()
    metrics = agent.update(batch).metrics
    expected = {"critic_loss": errors.square().mean(1).sum(), "flow_loss": flow, "distill_loss": distance}
    for name, number in (expected | {"actor_loss": value}).items():
        assert metrics[name].item() == pytest.approx(number.item(), rel=1e-5), name


@pytest.mark.long
def test_it_imitates_two_ways_of_acting_and_not_their_mean() -> None:
    agent = agent_for(
        "FQL", data="x", actor_lr=3e-3, **{"actor_layers": [{"layer_type": "linear", "layer_size": [64]}]}
    )
    rng = np.random.default_rng(1)
    for _ in range(400):
        side = rng.integers(2, size=(128, 1)) * 2 - 1
        unit = torch.from_numpy((0.6 * side + 0.05 * rng.standard_normal((128, 2))).astype(np.float32))
        batch = batch_for("SAC", 128) | {"action": agent.bounds.bounded(unit), "reward": torch.zeros(128)}
        agent.update(batch | {"discount": torch.zeros(128)})
    actions = agent._action(torch.zeros(200, 3), torch.randn(200, 2, generator=torch.Generator().manual_seed(1)))
    share = (actions[:, 0].abs() > 0.3).float().mean().item()
    assert share > 0.7
    assert 0.2 < (actions[:, 0] > 0).float().mean().item() < 0.8


# fitted Q evaluation --------------------------------------------------------------------------------------


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two states need no wide critics, and no large minibatches."""
    monkeypatch.setattr(
        fitted_q, "LAYERS", [layer for _ in range(2) for layer in (Linear(layer_size=[64]), LayerNorm())]
    )
    monkeypatch.setattr(fitted_q, "BATCH", 32)


@pytest.mark.long
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("space", [Discrete(2), Box(-1.0, 1.0, (1,))])
def test_the_value_is_that_of_the_policy_and_not_of_the_data(space: Any) -> None:
    """Two states; an action of 1 pays 1, one of 0 pays 0, and the second step ends the episode. The data choose at
    random: their value is 0.5 + 0.45."""
    rng = np.random.default_rng(1)
    count = 400
    second = np.arange(count) % 2 == 1
    best = rng.integers(2, size=count)
    action = best if isinstance(space, Discrete) else (2.0 * best[:, None] - 1.0).astype(np.float32)
    states = np.eye(2, dtype=np.float32)
    steps = {
        "obs": states[second.astype(int)], "action": action, "reward": best.astype(np.float32),
        "next_obs": states[1 - second.astype(int)], "terminated": second, "start": ~second,
    }  # fmt: skip
    spec = EnvSpec("toy", Box(0.0, 1.0, (2,)), space, 1)
    for choice, value in ((1, 1.9), (0, 0.0)):
        same = choice if isinstance(space, Discrete) else 2.0 * choice - 1.0
        taken = np.full_like(action, same)
        fitted = FittedQ(spec, steps, 0.9, 1, torch.device("cpu"))
        list(fitted.fit(taken, 300))
        assert fitted.made == 300
        mean, spread = fitted.value(taken[steps["start"]])
        assert mean == pytest.approx(value, abs=0.1)
        assert 0 <= spread < 0.1


@pytest.mark.parametrize(("gamma", "updates", "tau"), [(0.99, 5000, 0.08), (0.9, 5000, 0.01), (1.0, 5000, 0.5)])
def test_targets_move_so_fast_that_far_rewards_arrive(gamma: float, updates: int, tau: float) -> None:
    """4 / (0.01 5000); within the limits. What is left of the first values is e^-4 then."""
    assert tau_for(gamma, updates) == pytest.approx(tau)


def test_the_value_of_rewards_without_an_end_is_not_that_of_the_next_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 / (1 - 0.95) = 20. Targets that move by 0.01 would be at 20 (1 - e^(-0.05 0.01 160)) = 1.5."""
    rng, count = np.random.default_rng(1), 64
    obs, action = rng.standard_normal((count, 1)).astype(np.float32), np.zeros(count, int)
    steps = {
        "obs": obs, "action": action, "reward": np.ones(count, np.float32), "next_obs": np.roll(obs, -1, 0),
        "terminated": np.zeros(count, bool), "start": np.arange(count) == 0,
    }  # fmt: skip
    monkeypatch.setattr(fitted_q, "BATCH", count)
    fitted = FittedQ(EnvSpec("toy", Box(-9, 9, (1,)), Discrete(2), 1), steps, 0.95, 1, torch.device("cpu"))
    assert fitted.least_updates() == 160
    list(fitted.fit(action, 160))
    assert fitted.value(action[:1])[0] == pytest.approx(20.0, rel=0.05)
