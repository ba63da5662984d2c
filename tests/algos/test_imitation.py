"""Imitating an expert while collecting: discriminators, rewards of 1 for the data, and an expert that is asked."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

import algos
import joystick
from algos.base import Array, EnvSpec, Progress
from algos.gail.discriminator import (
    Discriminator,
    absorbing_reward,
    discriminator_loss,
    gradient_penalty,
    imitation_reward,
    shaped,
)
from config.model.memory_spec import EXPERT
from config.read.loader import ConfigError
from framework.loop.learner import AgentLearner
from framework.loop.share import digest
from framework.memory import Chunk
from tests.algos.test_learners import Together
from tests.framework.memory.test_offline import SMALL, spec_of
from tests.tools.core import agent_of, prepared_by

LN2, LN3 = math.log(2), math.log(3)
t = torch.tensor
LAYERS_OF_POLICY = {f"{part}_layers": [SMALL] for part in ("actor", "critic")}
LAYERS = {**LAYERS_OF_POLICY, "discriminator_layers": [SMALL]}
WINDOW = {"batch_size": 32, "sgd_batch_size": 16, "k_epochs": 2}


def to_the_left(obs: Array) -> Array:
    """An expert that pushes the cart against the side to which the pole leans."""
    return (obs[:, 2] < 0).astype(np.int64)


# equations ------------------------------------------------------------------------------------------------


def test_the_discriminator_has_the_loss_of_its_equation() -> None:
    # D is 1/2 and 3/4 for the expert, 1/2 and 1/4 for the policy: -mean(log 1/2, log 3/4) on both sides
    expert, own = t([0.0, LN3]), t([0.0, -LN3])
    each = (LN2 + math.log(4 / 3)) / 2
    assert discriminator_loss(expert, own).item() == pytest.approx(2 * each)


def test_the_gradient_penalty_is_that_of_slopes_other_than_1_between_both() -> None:
    def network(x: torch.Tensor) -> torch.Tensor:
        return (x.square() * t([1.0, 0.0])).sum(1)  # its slope is 2 x_0

    # a quarter and three quarters of the way: x_0 is 1 and 3, slopes 2 and 6
    penalty = gradient_penalty(network, t([[4.0, 9.0], [4.0, 9.0]]), t([[0.0, 0.0], [0.0, 0.0]]))
    assert penalty.item() == pytest.approx((1 + 25) / 2)


def test_dropout_of_a_discriminator_repeats_with_the_stream_of_learning() -> None:
    spec = replace(spec_of(), rows=4)
    layers = [SMALL, {"layer_type": "dropout", "rate": 0.5}]
    odds = []
    for seed in range(2):
        agent = agent_of("GAIL", spec, data="x.npz", **{**LAYERS, "discriminator_layers": layers})
        window = {name: torch.from_numpy(value).flatten(0, 1) for name, value in imitators_window(spec, agent).items()}
        torch.manual_seed(seed)
        agent.seed_dropout()
        odds.append(agent.discriminator.log_odds(*(window[name] for name in agent.discriminator.READS)))
    assert torch.equal(*odds)
    assert not torch.equal(odds[1], agent.discriminator.log_odds(*(window[name] for name in agent.discriminator.READS)))


@pytest.mark.parametrize(("algo", "networks"), [("GAIL", 1), ("AIRL", 2)])
def test_a_discriminator_of_slope_1_has_no_penalty(algo: str, networks: int) -> None:
    spec = replace(spec_of(), rows=4)
    agent = agent_of(algo, spec, data="x.npz", discriminator_layers=[], state_only=False, **LAYERS_OF_POLICY)
    window = {name: torch.from_numpy(value).flatten(0, 1) for name, value in imitators_window(spec, agent).items()}
    assert len(agent.discriminator.networks) == networks
    for network in agent.discriminator.networks.values():
        weight = network.body[-1].weight.data
        weight.zero_()
        weight[0, 1] = 1.0
    assert agent.discriminator.penalty(window).item() == pytest.approx(0.0, abs=1e-6)
    network.body[-1].weight.data[0, 1] = 3.0
    assert agent.discriminator.penalty(window).item() == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize(
    ("form", "reward"), [("positive", math.log(4)), ("negative", math.log(0.75)), ("log_odds", LN3)]
)
def test_the_reward_of_a_step_that_is_the_experts_with_probability_three_quarters(form: str, reward: float) -> None:
    assert imitation_reward(t([LN3]), form).item() == pytest.approx(reward)


def test_the_end_of_a_task_lasts_for_ever() -> None:
    own, expert = t([True, True, True, False]), t([True, False, False, False])
    # D = (1 + 1) / (1 + 1 + 3 + 1) = 1/3, so that its odds are 1/2; gamma / (1 - gamma) = 3
    assert absorbing_reward(expert, own, "log_odds", 0.75).item() == pytest.approx(-3 * LN2)
    assert absorbing_reward(expert, own, "positive", 0.75).item() == pytest.approx(3 * math.log(3 / 2))
    assert absorbing_reward(expert, expert, "log_odds", 0.75).item() == 0.0


def test_it_is_worth_something_only_after_terminal_steps() -> None:
    spec = replace(spec_of(), rows=4)
    rewards = []
    for absorbing in (False, True):
        agent = agent_of("GAIL", spec, data="x.npz", absorbing=absorbing, **LAYERS, **WINDOW)
        window = {name: torch.from_numpy(value) for name, value in imitators_window(spec, agent).items()}
        window["expert_terminated"] = torch.zeros_like(window["terminated"])
        rewards.append(agent.discriminator.prepare(window)["reward"])
    ends, count = window["terminated"], window["terminated"].sum()
    worth = 99 * math.log(1 + 1 / (count + 1))
    assert torch.equal(rewards[0][~ends], rewards[1][~ends])
    assert torch.allclose(rewards[1][ends] - rewards[0][ends], torch.full((int(count),), worth))


@pytest.mark.parametrize(("limit", "moved"), [(None, 2.0), (0.5, 0.5), (4.0, 2.0)])
def test_the_discriminators_gradients_have_a_limit_of_their_own(limit: float | None, moved: float) -> None:
    """Not that of PPO, which is 0.5: with a gradient penalty they are larger."""
    spec = replace(spec_of(), rows=4)
    settings = {
        "optimizer": "sgd",
        "discriminator_lr": 1.0,
        "max_grad_norm": 1e-3,
        "discriminator_max_grad_norm": limit,
    }
    agent = agent_of("GAIL", spec, data="x.npz", **settings, **LAYERS, **WINDOW)  # type: ignore[arg-type]
    discriminator = agent.discriminator
    batch = {name: torch.from_numpy(value).flatten(0, 1) for name, value in imitators_window(spec, agent).items()}
    before = torch.cat([weight.detach().clone().flatten() for weight in discriminator.parameters])

    def scaled_to_2(gradients: Any) -> None:
        """Stands for the mean over learners, between backward and clipping."""
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        for gradient in gradients:
            gradient.mul_(2.0 / norm)

    discriminator.update(batch, scaled_to_2)
    after = torch.cat([weight.detach().flatten() for weight in discriminator.parameters])
    assert (after - before).norm().item() == pytest.approx(moved, rel=1e-4)


def test_a_resumed_discriminator_learns_at_the_rate_of_its_settings() -> None:
    """RES-5"""
    spec = replace(spec_of(), rows=4)
    before, after = (
        agent_of("GAIL", spec, data="x.npz", discriminator_lr=lr, **LAYERS, **WINDOW) for lr in (0.5, 0.25)
    )
    after.load_state(before.state())
    window = {name: torch.from_numpy(value) for name, value in imitators_window(spec, before).items()}
    prepared_by(after, window, Progress())
    assert [group["lr"] for group in after.discriminator.optimizer.param_groups] == [0.25]


def test_a_state_that_lasts_for_ever_needs_discounting() -> None:
    with pytest.raises(ConfigError, match="absorbing: a state that lasts for ever needs a gamma below 1"):
        joystick.Run("GAIL", "Acrobot-v1", algo_cfg={"data": "x.npz", "absorbing": True, "gamma": 1.0})


def test_shaping_counts_what_follows_unless_the_step_is_terminal() -> None:
    f = shaped(t([1.0, 1.0]), t([2.0, 2.0]), t([3.0, 3.0]), t([False, True]), 0.5)
    assert f.tolist() == [0.5, -1.0]


@pytest.mark.parametrize("state_only", [True, False])
def test_the_odds_of_airl_are_exp_f_over_pi(state_only: bool) -> None:
    spec = spec_of()
    agent = agent_of("AIRL", spec, data="x.npz", gamma=0.5, state_only=state_only, **LAYERS)
    disc = agent.discriminator
    for network, bias in ((disc.g, 1.0), (disc.h, 2.0)):
        for parameter in network.parameters():
            parameter.data.zero_()
        network.body[-1].bias.data.fill_(bias)
    for parameter in agent.networks["actor"].parameters():
        parameter.data.zero_()
    agent.networks["actor"][-1].bias.data.copy_(t([0.0, LN3]))  # pi is 1/4 and 3/4
    obs = torch.zeros(2, 4)
    odds = disc.log_odds(obs, t([0, 1]), obs, t([False, True]))
    # f = 1 + 0.5 * 2 - 2 = 0, and 1 - 2 = -1 after a terminal step
    assert odds.tolist() == pytest.approx([-math.log(0.25), -1 - math.log(0.75)], abs=1e-6)
    d = odds.sigmoid()
    assert d.tolist() == pytest.approx([1 / (1 + 0.25), math.exp(-1) / (math.exp(-1) + 0.75)], abs=1e-6)
    assert disc.g.body[0].weight.shape[1] == (4 if state_only else 6)


def test_settings_of_ppo_are_those_of_its_imitators() -> None:
    ppo = algos.get("PPO").Config.model_fields
    for name in ("GAIL", "AIRL"):
        ours = algos.get(name).Config.model_fields
        assert {key: ours[key].default for key in ppo} == {key: field.default for key, field in ppo.items()}


# agents ---------------------------------------------------------------------------------------------------


def imitators_window(spec: EnvSpec, agent: Any, steps: int = 8) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    rows, obs = agent.spec.rows, spec.observation_space
    drawn = {name: rng.normal(size=(steps, rows, *obs.shape)).astype(np.float32) for name in ("obs", "next_obs")}
    act = agent.sample_action(drawn["obs"][0], None, Progress(), rng)
    columns = {name: np.repeat(value[None], steps, 0) for name, value in (("action", act.action), *act.columns.items())}
    flags = {name: rng.random((steps, rows)) < 0.2 for name in ("terminated", "truncated")}
    window = {**drawn, **columns, **flags, "reward": np.full((steps, rows), np.float32(1e9))}
    return {**window, **{beside: window[name] * 1 for name, beside in EXPERT.items()}, "expert_obs": drawn["obs"] + 1}


@pytest.mark.parametrize("algo", ["GAIL", "AIRL"])
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_the_rewards_are_the_discriminators_alone(algo: str, env: str) -> None:
    spec = replace(spec_of(env), rows=4)
    agent = agent_of(algo, spec, data="x.npz", normalize_obs=True, **LAYERS, **WINDOW)
    window = {name: torch.from_numpy(value) for name, value in imitators_window(spec, agent).items()}
    prepared = agent.prepare(window, Progress())
    odds = agent.discriminator.log_odds(*(window[name].flatten(0, 1) for name in Discriminator.READS))
    reward = agent.discriminator.prepare(window)["reward"]
    form = agent.cfg.imitation_reward
    assert torch.equal(reward.flatten(), imitation_reward(odds.detach(), form))
    assert prepared["target"].abs().max() < 1000
    before = prints(agent)
    result = agent.update({name: value.flatten(0, 1) for name, value in prepared.items()})
    assert {*result.metrics, "grad_norm", "lr"} == {*agent.metric_names()}
    assert all(one != other for one, other in zip(before, prints(agent), strict=True))


def prints(agent: Any) -> tuple[str, str]:
    """Fingerprints of the policy and of the discriminator."""
    return digest(agent.weights()), digest(agent.discriminator.state()["networks"])


@pytest.mark.parametrize("algo", ["GAIL", "AIRL"])
def test_two_learners_are_one(algo: str) -> None:
    spec = replace(spec_of(), rows=4)

    def learned(agent: Any, learner: AgentLearner) -> tuple[str, str]:
        learner.learn(Chunk(imitators_window(spec, agent), fraction=0.0), Progress())
        return prints(agent)

    def learner() -> tuple[Any, AgentLearner]:
        agent = agent_of(algo, spec, data="x.npz", gradient_penalty=0, **LAYERS, **WINDOW)
        return agent, AgentLearner(agent, agent.cfg.memory(4))

    agents, together = [learner() for _ in range(2)], Together(2)
    for rank, (_, each) in enumerate(agents):
        each.divide(together.share(rank))
    found = together.run([lambda a=a, b=b: learned(a, b) for a, b in agents])
    assert found[0] == found[1]
    alone = learner()
    learned(*alone)
    for name, array in alone[0].discriminator.state()["networks"].items():
        assert np.allclose(array, agents[0][0].discriminator.state()["networks"][name], atol=1e-5)


def dagger(expert: Callable[[Array], Array], **settings: Any) -> Any:
    agent = agent_of("DAgger", replace(spec_of(), rows=200), expert="x", actor_layers=[SMALL], **settings)
    agent.expert = lambda obs, mask: expert(obs)
    return agent


def test_the_share_of_the_experts_actions_decays() -> None:
    agent, rng = dagger(to_the_left, beta=0.5, beta_decay=100), np.random.default_rng(1)
    obs = np.full((200, 4), -0.1, np.float32)  # the expert says 1
    for parameter in agent.networks["actor"].parameters():
        parameter.data.zero_()
    agent.networks["actor"][-1].bias.data.copy_(t([50.0, 0.0]))  # the policy says 0
    for step, share in ((0, 0.5), (100, 0.5 / math.e), (10_000, 0.0)):
        act = agent.sample_action(obs, None, Progress(step=step), rng)
        assert agent.exploration(Progress(step=step)) == {"beta": pytest.approx(share)}
        assert act.action.mean() == pytest.approx(share, abs=0.1)
        assert list(act.columns) == ["expert_action"]
        assert (act.columns["expert_action"] == 1).all()


def test_dagger_learns_what_the_expert_says_and_not_what_was_played() -> None:
    agent = dagger(to_the_left, lr=0.05)
    obs = np.random.default_rng(1).normal(size=(200, 4)).astype(np.float32)
    batch = {"obs": torch.from_numpy(obs), "expert_action": torch.from_numpy(to_the_left(obs))}
    for _ in range(60):
        agent.update({**batch, "action": torch.zeros(200, dtype=torch.int64)})
    assert (agent.predict_action(obs, None).action == to_the_left(obs)).mean() > 0.95


def test_dagger_with_a_deterministic_head_plays_what_it_has_learned() -> None:
    """Its squared error learns no deviation, so that a noise would stay as wide as it began."""
    spec = EnvSpec("toy", Box(-1, 1, (3,)), Box(-2, 2, (1,)), 1)
    agent = agent_of("DAgger", spec, expert="my_module:function", head="deterministic", beta=0.0)
    agent.expert = lambda obs, mask: np.full((len(obs), 1), 2.0, np.float32)
    obs, rng = np.zeros((4, 3), np.float32), np.random.default_rng(0)
    act = agent.sample_action(obs, None, Progress(step=10**6), rng)
    np.testing.assert_allclose(act.action, agent.predict_action(obs, None).action)
    assert act.columns["expert_action"].tolist() == [[2.0]] * 4
