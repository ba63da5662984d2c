"""SAC_D: expectations over actions by hand, illegal actions, and toy tasks whose values are known."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from algos.base import Progress
from algos.common.maths.targets import entropy_of, soft_value
from algos.sac_d.agent import log_policy
from config.model.layers import mlp
from envs.base import Step, VectorEnv
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import agent_of, score, spec_of, stream, toy_of, trained


def tensor(*values):
    return torch.tensor(values)


# ----------------------------------------------------------------------------------------------------- formulas


def test_the_value_of_a_state_is_an_expectation_with_its_entropy():
    """Christodoulou (2019), equation 10: sum_a pi(a) (Q(a) - alpha log pi(a))."""
    value = soft_value(tensor([0.75, 0.25]).log(), tensor([2.0, 4.0]), torch.tensor(0.5))
    expected = 0.75 * (2 - 0.5 * math.log(0.75)) + 0.25 * (4 - 0.5 * math.log(0.25))
    assert value.item() == pytest.approx(expected)
    assert entropy_of(tensor([0.5, 0.5]).log()).item() == pytest.approx(math.log(2))


def test_illegal_actions_have_probability_0_in_every_expectation():
    logits, mask = tensor([5.0, 1.0, 1.0], [0.0, 9.0, 0.0]), tensor([False, True, True], [False, True, False])
    log_pi = log_policy(logits.requires_grad_(), mask)
    torch.testing.assert_close(log_pi.exp(), tensor([0.0, 0.5, 0.5], [0.0, 1.0, 0.0]))
    value = soft_value(log_pi, tensor([1e6, 2.0, 4.0], [1e6, 3.0, 1e6]), torch.tensor(0.5))
    assert value.tolist() == pytest.approx([3 + 0.5 * math.log(2), 3.0])
    (value.sum() + entropy_of(log_pi).sum()).backward()
    assert torch.isfinite(logits.grad).all()
    assert not logits.grad[~mask].any()


# ------------------------------------------------------------------------------------------------------- updates


def test_the_losses_are_those_of_the_formulas():
    agent, batch = agent_for("SAC_D", alpha=0.2, optimizer="sgd", critic_lr=1e-12), batch_for("SAC_D")
    alpha = torch.tensor(0.2)
    with torch.no_grad():
        value = soft_value(
            log_policy(agent.actor(batch["next_obs"]), None), agent.target(batch["next_obs"]).amin(0), alpha
        )
        target = batch["reward"] + batch["discount"] * value
        taken = agent.critic(batch["obs"])[:, torch.arange(16), batch["action"]]
        critic_loss = ((taken - target) ** 2).mean(1).sum()
        actor_loss = -soft_value(
            log_policy(agent.actor(batch["obs"]), None), agent.critic(batch["obs"]).amin(0), alpha
        ).mean()
    metrics = agent.update(batch).metrics
    assert metrics["critic_loss"].item() == pytest.approx(critic_loss.item(), rel=1e-5)
    assert metrics["actor_loss"].item() == pytest.approx(actor_loss.item(), rel=1e-5)


def test_the_next_state_is_judged_by_its_legal_actions_only():
    agent, batch = agent_for("SAC_D"), batch_for("SAC_D")
    with torch.no_grad():
        agent.target.body[-1].bias[:, 0, 2] += 1e6
    mask = torch.ones(16, 3, dtype=torch.bool)
    assert agent._target({**batch, "next_action_mask": mask}).max() > 1e3
    mask[:, 2] = False
    assert agent._target({**batch, "next_action_mask": mask}).max() < 1e3


def test_the_policy_gets_no_gradient_towards_illegal_actions():
    agent, batch = agent_for("SAC_D"), batch_for("SAC_D")
    mask = torch.ones(16, 3, dtype=torch.bool)
    mask[:, 2] = False
    seen = []
    agent.reduce = lambda grads: seen.append([grad.clone() for grad in grads])
    agent.update({**batch, "action_mask": mask})
    weight, bias = seen[1][-2:]
    assert not weight[2].any()
    assert not bias[2].any()
    assert weight[:2].any()


def test_the_target_entropy_is_a_share_of_what_the_legal_actions_allow():
    agent = agent_for("SAC_D", target_entropy_scale=0.5)
    assert agent._target_entropy(None) == pytest.approx(0.5 * math.log(3))
    mask = tensor([True, True, True], [True, False, False])
    assert agent._target_entropy(mask).tolist() == pytest.approx([0.5 * math.log(3), 0.0])
    assert agent_for("SAC_D", target_entropy=0.1)._target_entropy(mask) == 0.1


# --------------------------------------------------------------------------------------------------------- acting


@pytest.mark.parametrize("step", [0, 10_000])
def test_no_illegal_action_is_ever_taken(step):
    agent, obs = agent_for("SAC_D", start_steps=100), np.zeros((3, 3), np.float32)
    with torch.no_grad():
        agent.actor[-1].bias[0] = 50.0
    mask = np.array([[False, True, True], [False, False, True], [True, True, True]])
    drawn = {
        (row, int(action))
        for i in range(100)
        for row, action in enumerate(agent.sample_action(obs, None, Progress(step=step), stream(i, "x"), mask).action)
    }
    assert {action for row, action in drawn if row == 0} <= {1, 2}
    assert {action for row, action in drawn if row == 1} == {2}
    assert agent.predict_action(obs, None, mask).action.tolist()[1:] == [2, 0]
    assert agent.predict_action(obs, None).action.tolist() == [0, 0, 0]


class Forbidden(VectorEnv):
    """Shows -1 or 1, and wants the action 0 or 1 of the same sign. Action 2 is illegal, as is 0 after a 1 was shown
    twice as large; taking what is illegal raises."""

    observation_space, action_space = Box(-2, 2, (1,)), Discrete(3)

    def __init__(self, rows=2):
        self.rows, self.rng = rows, np.random.default_rng(0)

    def reset(self, mask, seeds):
        return self._show()

    def _show(self):
        self.obs = self.rng.choice(np.array([-1.0, 1.0, 2.0], np.float32), (self.rows, 1))
        self.action_mask = np.array([[obs != 2, True, False] for obs in self.obs[:, 0]])
        return self.obs

    def step(self, action):
        assert self.action_mask[np.arange(self.rows), action].all(), "an illegal action was taken"
        reward = np.sign(self.obs[:, 0]) * (2.0 * action - 1)
        done = np.ones(self.rows, bool)
        return Step(self._show(), reward.astype(np.float32), done, ~done)


QUICK = {
    "actor_layers": mlp(16, activation="tanh"),
    "critic_layers": mlp(16, activation="tanh"),
    "batch_size": 32,
    "start_steps": 50,
    "actor_lr": 1e-2,
    "critic_lr": 2e-2,
    "alpha_lr": 1e-2,
    "alpha_init": 0.2,
}


@pytest.mark.long
def test_what_is_legal_is_learned_and_what_is_not_is_never_tried():
    env = Forbidden()
    agent = trained(agent_of("SAC_D", spec_of(env), **QUICK), env, 75)
    obs = np.array([[-1.0], [1.0], [2.0]], np.float32)
    mask = np.array([[True, True, False], [True, True, False], [False, True, False]])
    assert agent.predict_action(obs, None, mask).action.tolist() == [0, 1, 1]


@pytest.mark.parametrize("settings", [{}, {"n_step": 2, "loss": "huber"}, {"buffer_type": "PER", "alpha": 0.1}])
def test_the_action_that_fits_the_observation_is_learned(settings):
    env = toy_of("match")
    agent = trained(agent_of("SAC_D", spec_of(env), **{**QUICK, **settings}), env, 75)
    assert score(agent, env) == 1.0


def test_numbers_of_actions_may_begin_anywhere():
    env = toy_of("shifted", 2)
    agent = trained(agent_of("SAC_D", spec_of(env), **QUICK), env, 60)
    assert score(agent, env) == 1.0


def critic_at(agent, *obs):
    with torch.no_grad():
        return agent.critic(torch.tensor(obs, dtype=torch.float32)[:, None]).mean(0)


@pytest.mark.long
def test_the_value_goes_on_past_a_time_limit():
    """TRM-1: reward 1 for ever, cut off after 5 steps, gamma 0.8: 1 / (1 - 0.8) = 5, and 3.4 with the cut as an end."""
    env = toy_of("time_limit", steps=5)
    settings = {**QUICK, "alpha": 1e-3, "gamma": 0.8, "tau": 0.1, "critic_lr": 3e-2}
    agent = trained(agent_of("SAC_D", spec_of(env), **settings), env, 250)
    assert critic_at(agent, 0.0).mean().item() == pytest.approx(5.0, abs=0.3)


@pytest.mark.long
def test_a_reward_one_step_later_is_worth_gamma():
    """TRM-1"""
    env = toy_of("two_step")
    settings = {**QUICK, "alpha": 1e-3, "gamma": 0.8, "tau": 0.1}
    agent = trained(agent_of("SAC_D", spec_of(env), **settings), env, 200)
    np.testing.assert_allclose(critic_at(agent, 0.0, 1.0).mean(1), [0.8, 1.0], atol=0.1)
