"""V-trace (Espeholt et al., 2018): returns of steps that an earlier version of the policy has done."""

import pytest
import torch

from algos.base import Progress
from algos.common.maths.returns import gae
from tests.tools.core import agent_of, collector_of, spec_of, toy_of, updated

GAMMA = LAMBDA = 0.5


def column(*numbers):
    return torch.tensor(numbers)[:, None]


@pytest.mark.parametrize(
    ("flag", "advantage"),
    [
        # d0 = 0.5 (1 + 0.5 * 4 - 2) = 0.5; d1 = 1 (2 + 0 - 4) = -2; d2 = 0.25 (3 + 0.5 * 8 - 6) = 0.25
        # A2 = d2; A1 = d1, where the episode ends; A0 = d0 + 0.25 * 0.5 A1
        ("terminated", [0.25, -2.0, 0.25]),
        # d1 = 1 (2 + 0.5 * 6 - 4) = 1
        ("truncated", [0.625, 1.0, 0.25]),
        # A1 = 1 + 0.25 * 1 * A2, A0 = 0.5 + 0.25 * 0.5 A1
        (None, [0.6328125, 1.0625, 0.25]),
    ],
)
def test_three_steps_by_hand_with_ratios_on_both_sides_of_one(flag, advantage):
    """TRM-1: a ratio above 1 counts as 1; nothing flows backward over an end."""
    ends = {name: column(False, name == flag, False) for name in ("terminated", "truncated")}
    value, ratio = column(2.0, 4.0, 6.0), column(0.5, 2.0, 0.25)
    found, target = gae(
        column(1.0, 2.0, 3.0), value, column(4.0, 6.0, 8.0), **ends, gamma=GAMMA, lam=LAMBDA, ratio=ratio
    )
    assert found.squeeze(1).tolist() == advantage
    assert torch.equal(target, found + value)


def some_window(steps=9, rows=5):
    """reward, value, next_value, terminated, truncated, ratio and valid, drawn at random."""
    draw = torch.Generator().manual_seed(1)
    reward, value, next_value = torch.randn(3, steps, rows, generator=draw).double()
    chance = torch.rand(3, steps, rows, generator=draw)
    terminated, truncated, valid = chance[0] < 0.15, chance[1] < 0.15, chance[2] < 0.9
    return (
        reward,
        value,
        next_value,
        terminated,
        truncated,
        torch.randn(steps, rows, generator=draw).double().exp(),
        valid,
    )


def test_at_ratio_one_it_is_generalised_advantage_estimation():
    *columns, ratio, valid = some_window()
    plain = gae(*columns, 0.9, 0.8, valid)
    torch.testing.assert_close(gae(*columns, 0.9, 0.8, valid, torch.ones_like(ratio)), plain)
    torch.testing.assert_close(gae(*columns, 0.9, 0.8, valid, 1 + ratio), plain)


def by_definition(reward, value, next_value, terminated, truncated, ratio, gamma, lam):
    """Equation 1: v_s = V_s + sum_t gamma^(t-s) (c_s ... c_(t-1)) rho_t (r_t + gamma V_(t+1) - V_t), with
    rho = min(1, ratio) and c = lambda rho, up to the end of the episode or of the window."""
    target = value.clone()
    for s in range(len(reward)):
        for row in range(reward.shape[1]):
            factor = 1.0
            for t in range(s, len(reward)):
                rho = min(1.0, float(ratio[t, row]))
                after = 0.0 if terminated[t, row] else gamma * next_value[t, row]
                target[s, row] += factor * rho * (reward[t, row] + after - value[t, row])
                if terminated[t, row] or truncated[t, row]:
                    break
                factor *= gamma * lam * rho
    return target


@pytest.mark.parametrize("lam", [1.0, 0.8])
def test_it_is_the_sum_of_the_paper(lam):
    *columns, ratio, _ = some_window()
    found = gae(*columns, 0.9, lam, None, ratio)[1]
    torch.testing.assert_close(found, by_definition(*columns, ratio, 0.9, lam))


def test_with_lambda_one_the_advantage_is_that_of_the_policy_gradient_in_the_paper():
    """rho_s (r_s + gamma v_(s+1) - V_s), where the successor's v is the next row of the window."""
    reward, value, _, *_, ratio, _ = some_window()
    never = torch.zeros_like(reward, dtype=torch.bool)
    next_value = torch.cat([value[1:], value[-1:]])
    advantage, target = gae(reward, value, next_value, never, never, 0.9, 1.0, None, ratio)
    expected = ratio.clamp(max=1)[:-1] * (reward + 0.9 * target.roll(-1, 0) - value)[:-1]
    torch.testing.assert_close(advantage[:-1], expected)


@pytest.mark.parametrize(("algo", "toy"), [("A2C", "match"), ("A2C", "target"), ("APPO", "match"), ("APPO", "target")])
@pytest.mark.parametrize("layers", [{}, {"actor_layers": [{"layer_type": "gru", "layer_size": 8}]}])
def test_an_agent_weighs_each_step_by_how_likely_it_would_choose_it_now(algo, toy, layers):
    """With vtrace: nothing changes while the policy is that which collected; afterwards, the paper's sum."""
    env = toy_of(toy, 4, steps=3)
    settings = {"gamma": 0.9, "gae_lambda": 0.8, "normalize_obs": False, **layers}
    agent = agent_of(algo, spec_of(env), vtrace=True, lr=0.05, **settings)
    plain = agent_of("PPO" if algo == "APPO" else algo, spec_of(env), **settings)
    columns = collector_of(env, agent).collect(8, Progress())[0].columns
    window = {name: torch.from_numpy(value.copy()) for name, value in columns.items()}
    if layers:
        ended = window["terminated"] | window["truncated"]
        window["first"] = torch.cat([torch.zeros_like(ended[:1]), ended[:-1]])
    now = agent.prepare(window, Progress())
    torch.testing.assert_close(now["target"], plain.prepare(window, Progress())["target"])
    part = now if layers else {name: value.flatten(0, 1) for name, value in now.items()}
    updated(agent, {name: value[0] if name == "state" else value for name, value in part.items()})
    later = agent.prepare(window, Progress())
    with torch.no_grad():
        ratio = (agent.policy.before(window)[1] - window["log_prob"]).exp()
        value, next_value = agent.policy.values(window)
    assert (ratio - 1).abs().max() > 0.01
    flags = window["terminated"], window["truncated"]
    expected = by_definition(window["reward"], value, next_value, *flags, ratio, 0.9, 0.8)
    torch.testing.assert_close(later["target"], expected)


def test_a_lagging_step_has_its_weight_once_in_the_first_update_of_appo():
    """Two steps that the policy would now choose with half and with three times the probability: V-trace weighs them
    by 0.5 and 1, and the ratio of the clipped objective is 1 for both. Ratios to the policy that collected would weigh
    the first by 0.25, and give the other no gradient."""
    env = toy_of("match", 2, steps=3)
    settings = {"gamma": 0.0, "normalize_obs": False, "normalize_advantage": False}
    agent = agent_of("APPO", spec_of(env), **settings)
    columns = collector_of(env, agent).collect(1, Progress())[0].columns
    window = {name: torch.from_numpy(value.copy()) for name, value in columns.items()}
    _, now = agent.policy.before(window)
    window["log_prob"] = now - torch.tensor([[0.5, 3.0]]).log()
    columns = agent.prepare(window, Progress())
    torch.testing.assert_close(columns["log_prob"], now)
    plain = window["reward"] - columns["value"]
    torch.testing.assert_close(columns["advantage"], torch.tensor([[0.5, 1.0]]) * plain)
    batch = {name: value.flatten(0, 1) for name, value in columns.items()}
    outputs = agent.policy.outputs(batch).detach().requires_grad_()
    agent._policy_loss(outputs, batch).loss.backward()
    found, outputs.grad = outputs.grad.clone(), None
    weighted = -(agent.policy.distribution.log_prob(outputs, batch["drawn"]) * batch["advantage"]).mean()
    weighted.backward()
    torch.testing.assert_close(found, outputs.grad)
