"""PPO: its formulas by hand, advantages through its own prepare, normalisation, and toy tasks."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from algos.base import EnvSpec, Progress
from algos.common.maths.returns import RewardScaler, gae
from algos.common.parts.actor_critic import standardize
from algos.ppo import Config
from algos.ppo.agent import adapted, adapted_pace, clipped_surrogate, penalized_surrogate, value_loss
from config.model.layers import mlp
from tests.tools.core import agent_of, collector_of, memory_of, prepared_by, ramp, score, spec_of, toy_of, trained


def tensor(*values):
    return torch.tensor(values)


# ------------------------------------------------------------------------------------------------------ formulas


def test_the_surrogate_takes_the_worse_of_the_ratio_and_its_clipped_self():
    """Schulman et al. (2017), equation 7."""
    # ratio, advantage -> min(r A, clip(r) A) with clip 0.2: (1.5, 1) -> 1.2; (0.5, -1) -> -0.8; (1.1, 2) -> 2.2;
    # (1.5, -1) -> -1.5. Their mean is 1.1 / 4, and three of four ratios are outside 0.8 .. 1.2
    ratio, advantage = tensor(1.5, 0.5, 1.1, 1.5), tensor(1.0, -1.0, 2.0, -1.0)
    old = tensor(-1.0, -2.0, -0.5, 0.0)
    result = clipped_surrogate(old + ratio.log(), old, advantage, 0.2)
    assert result.loss.item() == pytest.approx(-1.1 / 4)
    assert result.clipped.item() == 0.75
    kl = np.mean([r - 1 - math.log(r) for r in (1.5, 0.5, 1.1, 1.5)])
    assert result.kl.item() == pytest.approx(kl)


def test_only_a_ratio_that_has_already_gone_far_enough_has_no_gradient():
    log_prob = tensor(1.5, 0.5, 1.1, 1.5).log().requires_grad_()
    clipped_surrogate(log_prob, torch.zeros(4), tensor(1.0, -1.0, 2.0, -1.0), 0.2).loss.backward()
    # d/dlog r of r A is r A, and the loss is minus a quarter of it
    assert log_prob.grad.tolist() == pytest.approx([0.0, 0.0, -0.55, 0.375])


def test_the_penalized_surrogate_puts_a_price_on_the_divergence():
    """Schulman et al. (2017), equation 8."""
    # mean r A = (1.5 - 0.5) / 2 = 0.5, mean KL = 0.3, at a price of 2: -0.5 + 0.6
    old = tensor(-1.0, -2.0)
    result = penalized_surrogate(old + tensor(1.5, 0.5).log(), old, tensor(1.0, -1.0), tensor(0.2, 0.4), 2.0)
    assert result.loss.item() == pytest.approx(0.1)
    assert result.kl.item() == pytest.approx(0.3)
    assert result.clipped.item() == 0


@pytest.mark.parametrize(("kl", "price"), [(0.019, 2.5), (0.021, 5.0), (0.044, 5.0), (0.046, 10.0)])
def test_the_price_is_halved_after_small_moves_and_doubled_after_large_ones(kl, price):
    """Section 4: with a target of 0.03, small is below 0.03 / 1.5 and large above 0.03 * 1.5."""
    assert adapted(5.0, kl, 0.03, 1.5, 2.0) == price


@pytest.mark.parametrize(
    ("pace", "kl", "next_pace"),
    [
        (1.0, 0.0099, 1.5), (1.0, 0.0101, 1.0), (1.0, 0.0399, 1.0), (1.0, 0.0401, 2 / 3),
        (9.0, 0.0, 10.0), (0.012, 1.0, 0.01),
    ],
)  # fmt: skip
def test_learning_rates_grow_after_small_moves_and_shrink_after_large_ones(pace, kl, next_pace):
    """With a desired divergence of 0.02, small is below half of it and large above twice."""
    assert adapted_pace(pace, kl, 0.02) == pytest.approx(next_pace)


def test_the_value_loss_is_half_the_mean_square_or_the_worse_of_it_and_the_limited_one():
    value, old, target = tensor(2.0, 2.0), tensor(1.0, 1.9), tensor(3.0, 1.0)
    # errors 1 and 1; limited to 0.2 around the old value: 1.2 is 1.8 off, 2.0 stays
    assert value_loss(value, old, target, None).item() == 0.5
    assert value_loss(value, old, target, 0.2).item() == pytest.approx(0.5 * (1.8**2 + 1) / 2)


def test_advantages_are_brought_to_mean_0_and_deviation_1():
    """NUM-1: neither equal ones nor a single one divide by nothing."""
    torch.testing.assert_close(standardize(tensor(1.0, 3.0)), tensor(-1.0, 1.0))
    assert standardize(tensor(2.0, 2.0, 2.0)).tolist() == [0, 0, 0]
    assert standardize(tensor(5.0)).tolist() == [5.0]


# ------------------------------------------------------------------------------------------------------- prepare


def prepared(ends, **settings):
    """Three steps with rewards 1, 2, 3 and observations 0, 1, 2; the successor of an end or of the last step is half
    a step further. The critic is the identity, gamma and lambda are 1/2."""
    spec = EnvSpec("x", Box(-9, 9, (1,)), toy_of("match").action_space, 1)
    agent = agent_of("PPO", spec, gamma=0.5, gae_lambda=0.5, **settings)
    agent.policy.critic = lambda obs: obs
    columns = ramp(0, 3, 1, ends).columns
    return agent.prepare({name: torch.from_numpy(value) for name, value in columns.items()}, Progress())


@pytest.mark.parametrize(
    ("ends", "advantage"),
    [
        # deltas 1 + 1/2 - 0, 2 + 2/2 - 1, 3 + 2.5/2 - 2 = 1.5, 2, 2.25; each is followed by a quarter of the next
        ({}, [1.5 + 0.25 * 2.5625, 2 + 0.25 * 2.25, 2.25]),
        # truncated at step 1: its successor is 1.5, and nothing of step 2 comes back
        ({(1, 0): "truncated"}, [1.5 + 0.25 * 1.75, 2 + 0.75 - 1, 2.25]),
        # terminated: no successor
        ({(1, 0): "terminated"}, [1.5 + 0.25 * 1, 2 - 1, 2.25]),
        # the last step: with its true successor, or without
        ({(2, 0): "terminated"}, [1.5 + 0.25 * 2.25, 2 + 0.25 * 1, 3 - 2]),
    ],
)
def test_advantages_see_the_true_successor_and_no_other_episode(ends, advantage):
    """TRM-1, TRM-4, TRM-5"""
    window = prepared(ends)
    assert window["advantage"][:, 0].tolist() == pytest.approx(advantage)
    assert window["target"][:, 0].tolist() == pytest.approx([a + v for a, v in zip(advantage, (0, 1, 2), strict=True)])
    assert window["value"][:, 0].tolist() == [0, 1, 2]


def test_rewards_are_scaled_before_advantages_are_taken():
    reward, ended = ramp(0, 3).columns["reward"], torch.zeros(3, 1, dtype=torch.bool)
    scaled = RewardScaler(1, 0.5).scale(torch.from_numpy(reward), ended)
    value, successor = tensor([0.0], [1.0], [2.0]), tensor([1.0], [2.0], [2.5])
    advantage, _ = gae(scaled, value, successor, ended, ended, 0.5, 0.5)
    assert scaled[0, 0] != 1
    torch.testing.assert_close(prepared({}, normalize_reward=True)["advantage"], advantage)


def learning(toy="match", rows=2, steps=8, **settings):
    """An agent, and a window that it has collected."""
    env = toy_of(toy, rows)
    agent = agent_of("PPO", spec_of(env), actor_layers=mlp(8), critic_layers=mlp(8), **settings)
    fragment, _ = collector_of(env, agent).collect(steps, Progress())
    return agent, {name: torch.from_numpy(value.copy()) for name, value in fragment.columns.items()}


def flat(window):
    return {name: value.flatten(0, 1) for name, value in window.items()}


@pytest.mark.parametrize(
    ("toy", "normalize_obs"),
    [("match", False), ("digits", False), ("bits", False), ("target", False), ("match", True), ("target", True)],
)
def test_before_the_first_step_of_learning_every_ratio_is_one(toy, normalize_obs):
    """What acting wrote down is what learning computes, also through new statistics of the observations."""
    agent, window = learning(toy, normalize_obs=normalize_obs)
    metrics = agent.update(flat(agent.prepare(window, Progress()))).metrics
    assert metrics["kl"].item() == pytest.approx(0.0, abs=1e-6)
    assert metrics["clipped"].item() == 0.0


def test_statistics_are_of_raw_observations_and_frozen_while_acting():
    """EVL-2"""
    agent, window = learning(normalize_obs=True)
    agent.prepare(window, Progress())
    mean = agent.normalizer.moments.mean.item()
    assert mean == pytest.approx(window["obs"].double().mean().item())
    before = agent.weights()
    agent.predict_action(np.full((2, 1), 50, np.float32), None)
    np.testing.assert_equal(agent.weights(), before)
    assert any("moments" in name for name in before)


def test_statistics_and_the_scale_of_rewards_go_on_from_a_state():
    """RES-3"""
    settings = {"normalize_obs": True, "normalize_reward": True}
    (one, first), (other, second) = learning(**settings), learning(**settings)
    one.prepare(first, Progress())
    other.load_state(one.state())
    second["reward"] *= 3
    expected, again = (agent.prepare(dict(second), Progress()) for agent in (one, other))
    assert all(torch.equal(expected[name], again[name]) for name in expected)


def test_learning_stops_when_the_policy_has_moved_far_enough():
    agent, window = learning(target_kl=0.01)
    batch = flat(agent.prepare(window, Progress()))
    assert not agent.update(batch).stop
    agent, window = learning(target_kl=0.01)
    batch = flat(agent.prepare(window, Progress()))
    assert agent.update({**batch, "log_prob": batch["log_prob"] - 1}).stop
    agent, _ = learning()
    assert not agent.update({**batch, "log_prob": batch["log_prob"] - 1}).stop


def test_the_price_follows_from_the_last_epoch_and_is_part_of_the_state():
    agent, window = learning(ppo_type="kl", k_epochs=2, kl_target=0.02)
    batch = flat(agent.prepare(dict(window), Progress()))
    kl = [agent.update(batch).metrics["kl"].item() for _ in range(4)]
    assert kl[0] == pytest.approx(0, abs=1e-7)
    assert kl[3] > kl[1] > 0
    # two epochs of two minibatches: the last two count
    agent.moved = [torch.tensor(x) for x in (9.0, 9.0, 0.02, 0.04)]
    assert agent.state()["penalty"] == 0.5
    agent.moved = [torch.tensor(x) for x in (0.0, 0.0, 0.03, 0.05)]
    other, _ = learning(ppo_type="kl")
    other.load_state(agent.state())
    assert other.penalty == other.state()["penalty"] == 1.0
    assert agent.penalty == 0.5
    agent.prepare(dict(window), Progress())
    assert (agent.penalty, agent.moved) == (1.0, [])


def rates_of(agent):
    return [group["lr"] for group in agent.optimizer.param_groups]


@pytest.mark.parametrize("ppo_type", ["clip", "kl"])
def test_learning_rates_follow_from_the_last_epoch_and_go_on_from_a_state(ppo_type):
    settings = {"ppo_type": ppo_type, "k_epochs": 2, "lr_schedule": "adaptive", "desired_kl": 0.02, "lr": 0.01}
    agent, window = learning(**settings, critic_lr=0.02)
    batch = flat(prepared_by(agent, dict(window), Progress()))
    assert rates_of(agent) == [0.01, 0.02]
    agent.update(batch)
    assert len(agent.moved) == 1
    # two epochs of two minibatches: the last two count, whose mean is below 0.01
    agent.moved = [torch.tensor(x) for x in (9.0, 9.0, 0.008, 0.01)]
    other, _ = learning(**settings, critic_lr=0.02)
    other.load_state(agent.state())
    for one in (agent, other):
        prepared_by(one, dict(window), Progress())
        assert rates_of(one) == pytest.approx([0.015, 0.03])
    agent.moved = [torch.tensor(0.05)] * 4
    prepared_by(agent, dict(window), Progress())
    assert rates_of(agent) == pytest.approx([0.01, 0.02])


def test_a_bonus_learns_with_its_own_rate():
    agent, window = learning(lr_schedule="adaptive", lr=0.01, bonus="rnd", bonus_lr=0.001)
    agent.moved = [torch.tensor(1.0)] * 8
    prepared_by(agent, dict(window), Progress())
    assert [group["lr"] for group, _ in agent.rates(Progress())] == pytest.approx([0.02 / 3, 0.02 / 3, 0.001])


def test_rates_that_no_longer_adapt_are_those_of_the_settings():
    """A resume may change the schedule; and checkpoints from before it have no pace."""
    agent, window = learning(lr_schedule="adaptive", lr=0.01)
    agent.pace = 0.1
    state = agent.state()
    other, _ = learning(lr_schedule="constant", lr=0.01)
    other.load_state(state)
    prepared_by(other, dict(window), Progress())
    assert rates_of(other) == [0.01, 0.01]
    del state["pace"]
    agent.load_state(state)
    assert agent.pace == 1.0


def test_the_divergence_is_weighed_by_the_old_policy():
    """Equation 8, KL(pi_old, pi): from 1/4 and 3/4 to even chances. The other way round it is 0.143841."""
    agent, window = learning(ppo_type="kl")
    batch = flat(agent.prepare(window, Progress()))
    batch["old"] = tensor(0.25, 0.75).log().expand_as(batch["old"])
    with torch.no_grad():
        for parameter in agent.policy.actor.parameters():
            parameter.zero_()
    # 1/4 ln(1/4 / 1/2) + 3/4 ln(3/4 / 1/2) = -0.173287 + 0.304099
    assert agent.update(batch).metrics["kl"].item() == pytest.approx(0.130812, abs=1e-6)


def test_a_higher_price_keeps_the_policy_nearer():
    moved = []
    for price in (0.01, 100.0):
        agent, window = learning("target", ppo_type="kl", kl_lambda=price, lr=0.01)
        batch = flat(agent.prepare(window, Progress()))
        moved.append([agent.update(batch).metrics["kl"].item() for _ in range(10)][-1])
    assert 0 < moved[1] < 0.2 * moved[0]


def test_settings_of_the_other_type_are_named():
    wrong = Config(ppo_type="kl", target_kl=0.1, eps_clip=0.3), Config(kl_target=0.1, kl_alpha=3.0)
    assert [sorted(key for key, _ in cfg.unread() if key in cfg.model_fields_set) for cfg in wrong] == [
        ["eps_clip", "target_kl"],
        ["kl_alpha", "kl_target"],
    ]
    assert list(Config(ppo_type="kl", kl_target=0.1).problems()) == []


@pytest.mark.parametrize(("ppo_type", "stops"), [("clip", True), ("kl", False)])
def test_only_the_clipped_objective_stops_at_target_kl(ppo_type, stops):
    """As `not used: target_kl` says; and the penalty adapts to the last of all epochs."""
    agent, window = learning("target", ppo_type=ppo_type, target_kl=1e-9, lr=0.01)
    batch = flat(agent.prepare(window, Progress()))
    assert [agent.update(batch).stop for _ in range(3)] == [False, stops, stops]


def test_actor_and_critic_have_their_own_learning_rates_on_the_course_of_the_run():
    agent, window = learning(lr=0.5, actor_lr=0.1, lr_schedule="linear")
    prepared_by(agent, window, Progress(fraction=0.5))
    assert [group["lr"] for group in agent.optimizer.param_groups] == pytest.approx([0.05, 0.25])


def test_the_loss_is_the_sum_of_its_parts():
    agent, window = learning(value_coef=0.25, entropy_coef=0.125)
    metrics = agent.update(flat(agent.prepare(window, Progress()))).metrics
    parts = metrics["policy_loss"] + 0.25 * metrics["value_loss"] - 0.125 * metrics["entropy"]
    assert metrics["loss"].item() == pytest.approx(parts.item())
    # the first policy is all but undecided between two actions
    assert metrics["entropy"].item() == pytest.approx(math.log(2), abs=1e-3)


def test_no_gradient_is_longer_than_asked():
    agent, window = learning(max_grad_norm=1e-3, optimizer="sgd", lr=1.0)
    before = agent.weights()
    agent.update(flat(agent.prepare(window, Progress())))
    moved = [after - before[name] for name, after in agent.weights().items()]
    assert math.sqrt(sum(float((change**2).sum()) for change in moved)) == pytest.approx(1e-3, rel=0.01)


# --------------------------------------------------------------------------------------------------------- tasks

QUICK = {
    "actor_layers": mlp(16, activation="tanh"),
    "critic_layers": mlp(16, activation="tanh"),
    "lr": 0.01,
    "batch_size": 128,
    "sgd_batch_size": 64,
    "k_epochs": 4,
}


def value_of(agent, obs):
    return agent.policy.critic(torch.tensor([[obs]], dtype=torch.float32)).item()


@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, {"value_clip": 5.0}])
def test_the_value_goes_on_past_a_time_limit(settings):
    """TRM-1: 1 / (1 - 0.8) = 5, and not the 3.4 at most of one who takes the cut for an end."""
    env = toy_of("time_limit", 4, steps=5)
    agent = trained(agent_of("PPO", spec_of(env), gamma=0.8, **settings, **{**QUICK, "lr": 0.03}), env, 20)
    assert value_of(agent, 0.0) == pytest.approx(5.0, abs=0.2)


@pytest.mark.long
def test_a_reward_one_step_later_is_worth_gamma():
    """TRM-1"""
    env = toy_of("two_step", 4)
    agent = trained(agent_of("PPO", spec_of(env), gamma=0.8, **QUICK), env, 25)
    assert [value_of(agent, obs) for obs in (0.0, 1.0)] == pytest.approx([0.8, 1.0], abs=0.1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("toy", "settings"),
    [
        ("match", {}),
        ("match", {"normalize_obs": True, "normalize_reward": True}),
        ("match", {"ppo_type": "kl"}),
        ("shifted", {}),
        ("digits", {}),
        ("bits", {}),
    ],
)
def test_the_right_action_is_learned_in_every_discrete_space(toy, settings):
    env = toy_of(toy, 8)
    agent = trained(agent_of("PPO", spec_of(env), **settings, **QUICK), env, 15)
    assert score(agent, toy_of(toy, 8)) == 1.0


@pytest.mark.long
def test_a_continuous_action_comes_to_its_target():
    """The best return is 0, that of standing still -1/3."""
    env = toy_of("target", 8)
    agent = trained(agent_of("PPO", spec_of(env), log_std_init=-1.0, **QUICK), env, 20)
    assert score(agent, toy_of("target", 8)) > -0.02


def test_the_memory_holds_batch_size_transitions_over_all_rows():
    env = toy_of("match", 8)
    assert memory_of(agent_of("PPO", spec_of(env), **QUICK)).spec.length == 16
