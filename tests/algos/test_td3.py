"""TD3 and DDPG: their formulas by hand, target smoothing, delayed targets, and the noise of exploration."""

import numpy as np
import pytest
import torch

from algos.base import Progress
from algos.common.parts.continuous import ornstein_uhlenbeck
from algos.td3.agent import policy_loss, smoothed, td_target
from config.model.layers import mlp
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import agent_of, collector_of, spec_of, stream, toy_of


def tensor(*values):
    return torch.tensor(values)


# ----------------------------------------------------------------------------------------------------- formulas


def test_the_target_takes_the_smaller_of_two_values():
    """Fujimoto et al. (2018), equation 10; the second state is terminal, the third comes after two steps."""
    # 1 + 0.5 * min(2, 3) = 2;  2 + 0 = 2;  -1 + 0.25 * min(8, 4) = 0
    next_q = tensor([2.0, 5.0, 8.0], [3.0, 6.0, 4.0])
    target = td_target(tensor(1.0, 2.0, -1.0), tensor(0.5, 0.0, 0.25), next_q)
    assert target.tolist() == [2.0, 2.0, 0.0]


def test_ddpg_has_one_value_to_take():
    """Lillicrap et al. (2016), algorithm 1: y = r + gamma Q'(s', mu'(s'))."""
    assert td_target(tensor(1.0), tensor(0.5), tensor([4.0])).tolist() == [3.0]


def test_the_noise_of_a_target_is_clipped_and_so_is_the_action():
    """Fujimoto et al. (2018), algorithm 1."""
    # 0 + 0.2;  0 + 0.5 of 0.9;  0.8 + 0.5 stops at 1;  -0.9 - 0.5 stops at -1
    action, noise = tensor([0.0, 0.0, 0.8, -0.9]), tensor([0.2, 0.9, 0.6, -0.7])
    torch.testing.assert_close(smoothed(action, noise, 0.5), tensor([0.2, 0.5, 1.0, -1.0]))


def test_the_policy_climbs_the_first_critic():
    q = tensor([1.0, 3.0], [100.0, 100.0]).requires_grad_()
    loss = policy_loss(q)
    loss.backward()
    assert loss.item() == -2.0
    assert q.grad.tolist() == [[-0.5, -0.5], [0.0, 0.0]]


# ------------------------------------------------------------------------------------------------------- updates


def test_the_loss_is_that_of_the_formulas_with_noise_from_the_agents_stream():
    agent, batch = agent_for("TD3", policy_noise=0.2, noise_clip=0.1, reward_scale=0.5), batch_for("TD3")
    with torch.no_grad():
        noise = torch.from_numpy(stream(1, "learn").standard_normal((16, 2), np.float32))
        action = smoothed(agent.target_actor(batch["next_obs"]), 0.2 * noise, 0.1)
        next_q = agent.target_critic(batch["next_obs"], action).squeeze(-1)
        target = td_target(0.5 * batch["reward"], batch["discount"], next_q)
        # actions -2..2 and 0..10 as -1..1
        unit = torch.stack([batch["action"][:, 0] / 2, batch["action"][:, 1] / 5 - 1], 1)
        q = agent.critic(batch["obs"], unit).squeeze(-1)
        expected = ((q - target) ** 2).mean(1).sum()
    assert agent.update(batch).metrics["critic_loss"].item() == pytest.approx(expected.item(), rel=1e-5)


def test_targets_move_with_the_actor_only():
    agent, batch = agent_for("TD3", policy_freq=2, tau=0.25), batch_for("TD3")
    first = [p.clone() for p in agent.slow]
    agent.update(batch)
    assert all(torch.equal(a, b) for a, b in zip(agent.slow, first, strict=True))
    agent.update(batch)
    for slow, before, now in zip(agent.slow, first, agent.online, strict=True):
        torch.testing.assert_close(slow, 0.75 * before + 0.25 * now.detach())


def test_the_actor_follows_the_gradient_of_its_value():
    """Lillicrap et al. (2016), equation 6: the chain rule through the critic."""
    agent, batch = agent_for("DDPG", policy_freq=1, optimizer="sgd", actor_lr=0.5, critic_lr=1e-12), batch_for("DDPG")
    before = [p.detach().clone() for p in agent.actor.parameters()]
    loss = -agent.critic(batch["obs"], agent.actor(batch["obs"])).mean()
    expected = torch.autograd.grad(loss, list(agent.actor.parameters()))
    agent.update(batch)
    for now, was, gradient in zip(agent.actor.parameters(), before, expected, strict=True):
        torch.testing.assert_close(now.detach(), was - 0.5 * gradient)


@pytest.mark.parametrize("settings", [{}, {"bc_alpha": 2.5}])
def test_the_actor_needs_the_first_critic_alone(settings):
    """Fujimoto et al. (2018), algorithm 1: computing the others would take as long again."""
    agent, other = (agent_for("TD3", **settings) for _ in range(2))
    with torch.no_grad():
        for parameter in other.critic.body.parameters():
            parameter[1:] = torch.nan
    for each in (agent, other):
        each.actor_step(batch_for("TD3"), reduce=each.reduce)
    assert all(torch.equal(a, b) for a, b in zip(agent.actor.parameters(), other.actor.parameters(), strict=True))


def test_ddpg_draws_nothing_while_learning():
    agent = agent_for("DDPG")
    agent.update(batch_for("DDPG"))
    assert agent.streams.learn.bit_generator.state == stream(1, "learn").bit_generator.state


# ---------------------------------------------------------------------------------------------------- exploration


def test_the_process_is_pulled_back_and_pushed_by_noise():
    """Uhlenbeck and Ornstein (1930) in steps of 1: 0.5 - 0.15 * 0.5 + 0.2 = 0.625; -1 + 0.15 - 0.05 = -0.9."""
    state = ornstein_uhlenbeck(np.array([0.5, -1.0], np.float32), np.array([0.2, -0.05], np.float32), 0.15)
    np.testing.assert_allclose(state, [0.625, -0.9], rtol=1e-6)


def ou_agent(env, **settings):
    settings = {"exploration_type": "ou", "expl_noise": 0.2, "start_steps": 0, **settings}
    return agent_of("DDPG", spec_of(env), actor_layers=mlp(4), critic_layers=mlp(4), **settings)


def test_the_process_goes_on_within_an_episode_and_begins_anew_with_the_next_row_by_row():
    env = toy_of("target", 2, steps=3)
    agent = ou_agent(env)
    columns = collector_of(env, agent).collect(7, Progress())[0].columns
    state, ended = columns["state"], columns["terminated"] | columns["truncated"]
    assert state.shape == (7, 2, 1)
    begins = np.concatenate([np.ones((1, 2), bool), ended[:-1]])
    assert (state[begins] == 0).all()
    assert (state[~begins] != 0).all()
    # what is added to the policy's action is the state after the step; the bounds are -2 and 3
    unit = agent.carried.act(columns["obs"][0], None)[0]
    noise = ((columns["action"][0] - 0.5) / 2.5) - unit
    np.testing.assert_allclose(noise, state[1], atol=1e-5)


def test_gaussian_noise_has_the_deviation_that_is_asked_for():
    agent = agent_for("TD3", start_steps=0, expl_noise=0.05)
    obs = np.zeros((4000, 3), np.float32)
    off = agent.sample_action(obs, None, Progress(), stream(1, "x")).action - agent.predict_action(obs, None).action
    np.testing.assert_allclose(off.std(0), [0.05 * 2, 0.05 * 5], rtol=0.05)
    assert agent.initial_state(3) is None


def test_without_noise_exploring_is_doing_the_best():
    env = toy_of("target", 2)
    agent = ou_agent(env, exploration_type="none")
    obs = np.zeros((2, 1), np.float32)
    act = agent.sample_action(obs, agent.initial_state(2), Progress(), stream(1, "x"))
    np.testing.assert_array_equal(act.action, agent.predict_action(obs, None).action)
