"""The policy gradients together: A2C by hand, time limits, masks and toy tasks. PPO, REINFORCE and TRPO have more tests
of their own."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from algos.base import Progress
from algos.common.parts.actor_critic import explained_variance, policy_loss, squared_error
from envs.base import Step, VectorEnv
from framework.loop.learner import AgentLearner
from framework.memory import Chunk
from tests.tools.core import agent_of, collector_of, prepared_by, score, toy_of, trained
from tests.tools.policy import QUICK, ROUNDS, learning, prepared, quick, samples

every_algorithm = pytest.mark.parametrize("algo", QUICK)


def tensor(*values):
    return torch.tensor(values)


# -------------------------------------------------------------------------------------------------- formulas


def test_the_policy_loss_is_the_mean_of_log_probabilities_times_advantages():
    """Mnih et al. (2016), section 4: the gradient log pi(a|s) A, here to be made small."""
    log_prob = tensor(-1.0, -2.0).requires_grad_()
    loss = policy_loss(log_prob, tensor(3.0, -1.0))
    loss.backward()
    assert loss.item() == -(-3 + 2) / 2
    assert log_prob.grad.tolist() == [-1.5, 0.5]
    assert squared_error(tensor(2.0, 1.0), tensor(3.0, 3.0)).item() == 0.5 * (1 + 4) / 2


def test_the_loss_of_a2c_is_the_sum_of_its_parts():
    agent, window = learning("A2C", value_coef=0.25, entropy_coef=0.125)
    batch = samples(agent.prepare(window, Progress()))
    metrics = agent.update(batch).metrics
    parts = metrics["policy_loss"] + 0.25 * metrics["value_loss"] - 0.125 * metrics["entropy"]
    assert metrics["loss"].item() == pytest.approx(parts.item())
    # the first policy is all but undecided between two actions, so that log pi is ln 1/2 for all of them
    assert metrics["entropy"].item() == pytest.approx(math.log(2), abs=1e-3)
    assert metrics["policy_loss"].item() == pytest.approx(math.log(2) * batch["advantage"].mean().item(), abs=0.01)


def test_the_advantages_of_a2c_are_as_they_are_unless_asked_otherwise():
    """Twice the advantage is twice the gradient of the policy; brought to deviation 1, it is the same."""
    for settings, factor in (({}, 2.0), ({"normalize_advantage": True}, 1.0)):
        lengths = []
        for scale in (1.0, 2.0):
            agent, window = learning("A2C", value_coef=0.0, max_grad_norm=None, **settings)
            batch = samples(agent.prepare(window, Progress()))
            seen = []
            agent.reduce = lambda grads, seen=seen: seen.extend(grad.clone() for grad in grads)
            agent.update(agent.standardize({**batch, "advantage": scale * batch["advantage"]}))
            lengths.append(torch.cat([grad.flatten() for grad in seen]).norm().item())
        assert lengths[1] / lengths[0] == pytest.approx(factor, rel=1e-4)


@pytest.mark.parametrize("algo", ["A2C", "IMPALA", "TRPO"])
@pytest.mark.parametrize(
    ("ends", "target"),
    [
        # 3 + 2.5/2 = 4.25, 2 + 4.25/2 = 4.125, 1 + 4.125/2 = 3.0625
        ({}, [3.0625, 4.125, 4.25]),
        # truncated: 2 + 1.5/2, with the value of where it stood; terminated: 2
        ({(1, 0): "truncated"}, [1 + 2.75 / 2, 2.75, 4.25]),
        ({(1, 0): "terminated"}, [1 + 2 / 2, 2, 4.25]),
    ],
)
def test_returns_go_past_a_time_limit_and_not_past_an_end(algo, ends, target):
    """TRM-1: with lambda 1, the sum of rewards up to the end of the window or episode, and the value behind it."""
    window = prepared(algo, ends, gae_lambda=1.0, **({"vtrace": False} if algo == "IMPALA" else {}))
    assert window["target"][:, 0].tolist() == pytest.approx(target)
    assert window["advantage"][:, 0].tolist() == pytest.approx([t - v for t, v in zip(target, (0, 1, 2), strict=True)])


def test_impala_is_a2c_in_one_process():
    one, window = learning("A2C")
    other = agent_of("IMPALA", one.spec, **{**QUICK["A2C"], "batch_size": 16})
    for agent in (one, other):
        agent.update(samples(agent.prepare(dict(window), Progress())))
    np.testing.assert_equal(other.weights(), one.weights())


@pytest.mark.parametrize(("algo", "lr"), [("A2C", "lr"), ("REINFORCE", "lr"), ("TRPO", "critic_lr")])
def test_the_learning_rate_follows_the_course_of_the_run(algo, lr):
    agent, window = learning(algo, lr_schedule="linear", **{lr: 0.04})
    prepared_by(agent, window, Progress(fraction=0.75))
    assert all(group["lr"] == pytest.approx(0.01) for group in agent.optimizer.param_groups)


# -------------------------------------------------------------------------------------------------- masks


class Forbidden(VectorEnv):
    """Shows which of three actions is forbidden. The one after it gives 1, the other 0, and the forbidden one fails.
    With `always`, it is the same one in every episode."""

    observation_space, action_space = Box(0, 1, (3,)), Discrete(3)

    def __init__(self, rows, always=None):
        self.rows, self.always, self.count = rows, always, 0

    def reset(self, mask, seeds):
        self.count += 1
        drawn = (np.asarray(seeds) * 7 + self.count) % 3
        self.forbidden = drawn if self.always is None else np.full(self.rows, self.always)
        return self._see()

    def step(self, action):
        assert (action != self.forbidden).all(), "an illegal action"
        reward = (action == (self.forbidden + 1) % 3).astype(np.float32)
        return Step(self._see(), reward, np.ones(self.rows, bool), np.zeros(self.rows, bool))

    def _see(self):
        self.action_mask = self.forbidden[:, None] != np.arange(3)
        return (~self.action_mask).astype(np.float32)


@every_algorithm
def test_illegal_actions_are_never_tried_and_the_best_legal_one_is_learned(algo):
    env = Forbidden(8)
    agent = trained(quick(algo, env), env, ROUNDS[algo])
    assert score(agent, Forbidden(8)) == 1.0


@every_algorithm
@pytest.mark.parametrize("settings", [{}, {"normalize_obs": True, "entropy_coef": 0.1}])
def test_what_is_illegal_everywhere_is_not_learned_about(algo, settings):
    """Not the gradient of the loss, nor that of the entropy, nor a natural gradient moves its logit."""
    env = Forbidden(16, always=2)
    agent = quick(algo, env, **settings)
    fragment, _ = collector_of(env, agent).collect(8, Progress())
    assert set(np.unique(fragment.columns["action"])) == {0, 1}
    # two actions of about the same probability: ln 1/2
    np.testing.assert_allclose(fragment.columns["log_prob"], math.log(0.5), atol=0.02)
    before = agent.policy.actor[-1].bias.detach().clone()
    columns = {**fragment.columns, "valid": np.ones((8, 16), bool)}
    learned = AgentLearner(agent, agent.cfg.memory(16)).learn(Chunk(columns), Progress())
    moved = agent.policy.actor[-1].bias.detach() != before
    assert moved.tolist() == [True, True, False]
    assert learned.metrics["entropy"][0] == pytest.approx(math.log(2), abs=0.01)


@every_algorithm
def test_the_best_legal_action_is_taken_where_the_best_is_illegal(algo):
    env = toy_of("shifted", 3)
    agent = quick(algo, env)
    with torch.no_grad():
        agent.policy.actor[-1].bias.copy_(tensor(1.0, 3.0, 2.0))
    mask = np.array([[True, True, True], [True, False, True], [True, False, False]])
    assert agent.predict_action(np.array([5, 5, 5]), None, mask).action.tolist() == [1, 2, 0]


# -------------------------------------------------------------------------------------------------- tasks


def value_of(agent, obs):
    return agent.policy.critic(torch.tensor([[obs]], dtype=torch.float32)).item()


@pytest.mark.long
@pytest.mark.parametrize(
    ("algo", "settings", "rounds"),
    [
        ("A2C", {"lr": 0.05}, 80),
        ("TRPO", {"critic_lr": 0.03}, 15),
        ("REINFORCE", {"baseline": "value", "lr": 0.1, "batch_episode": 4}, 350),
    ],
)
def test_the_value_goes_on_past_a_time_limit(algo, settings, rounds):
    """TRM-1: 1 / (1 - 0.8) = 5, and not the 3.4 at most of one who takes the cut for an end."""
    env = toy_of("time_limit", 4, steps=5)
    agent = trained(quick(algo, env, gamma=0.8, **settings), env, rounds)
    assert value_of(agent, 0.0) == pytest.approx(5.0, abs=0.3)


@pytest.mark.parametrize("algo", ["A2C", "TRPO"])
def test_a_reward_one_step_later_is_worth_gamma(algo):
    env = toy_of("two_step", 4)
    agent = trained(quick(algo, env, gamma=0.8), env, ROUNDS[algo])
    assert [value_of(agent, obs) for obs in (0.0, 1.0)] == pytest.approx([0.8, 1.0], abs=0.1)


@pytest.mark.parametrize(
    ("algo", "toy"),
    [("A2C", "match"), ("REINFORCE", "shifted"), ("TRPO", "match"), ("TRPO", "digits"), ("A2C", "bits")],
)
def test_the_right_action_is_learned(algo, toy):
    env = toy_of(toy, 8)
    agent = trained(quick(algo, env), env, ROUNDS[algo])
    assert score(agent, toy_of(toy, 8)) == 1.0


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("A2C", {"normalize_obs": True, "normalize_reward": True}),
        ("A2C", {"optimizer": "rmsprop"}),
        ("TRPO", {"normalize_obs": True, "normalize_reward": True}),
        ("REINFORCE", {"normalize_obs": True, "baseline": "value"}),
        ("REINFORCE", {"baseline": "none", "normalize_advantage": False}),
    ],
)
def test_the_right_action_is_learned_with_other_settings(algo, settings):
    env = toy_of("match", 8)
    agent = trained(quick(algo, env, **settings), env, ROUNDS[algo])
    assert score(agent, toy_of("match", 8)) == 1.0


@pytest.mark.long
@pytest.mark.parametrize("algo", ["A2C", "REINFORCE", "TRPO"])
def test_a_continuous_action_comes_to_its_target(algo):
    """The best return is 0, that of standing still -1/3."""
    env = toy_of("target", 8)
    agent = trained(quick(algo, env, log_std_init=-1.0), env, 2 * ROUNDS[algo])
    assert score(agent, toy_of("target", 8)) > -0.05


# ------------------------------------------------------------------------------------------------------- metrics


def test_the_explained_variance_is_one_less_the_share_of_the_error():
    """Targets 1, 2, 3, 4 vary by 1.25; the errors 0, 0, 0, 2 by 0.75; the last target is that of a dummy step."""
    target, value = (
        torch.tensor([[1.0], [2.0], [3.0], [4.0], [99.0]]),
        torch.tensor([[1.0], [2.0], [3.0], [2.0], [0.0]]),
    )
    valid = torch.tensor([True, True, True, True, False]).unsqueeze(1)
    assert explained_variance(value, target, valid).item() == pytest.approx(1 - 0.75 / 1.25)
    assert explained_variance(value[:4], target[:4]).item() == pytest.approx(0.4)
    assert explained_variance(target, target).item() == 1.0
    assert explained_variance(torch.zeros(5, 1), target).item() == 0.0
    assert explained_variance(torch.zeros(5, 1), torch.full((5, 1), 3.0)).item() == 0.0, "a number, and no NaN"


@pytest.mark.parametrize("algo", ["PPO", "A2C", "TRPO", "REINFORCE"])
def test_the_norm_of_gradients_the_rate_and_the_explained_variance_are_metrics(algo):
    rate = {"TRPO": {}, "REINFORCE": {"lr": 0.5, "baseline": "none"}}.get(algo, {"lr": 0.5})
    agent, window = learning(algo, lr_schedule="linear", max_grad_norm=1e-3, **rate)
    chunk = Chunk({name: column.numpy() for name, column in window.items()}, fraction=0.25)
    found = AgentLearner(agent, agent.cfg.memory(2)).learn(chunk, Progress(fraction=1.0)).metrics
    assert set(found) == {*agent.METRICS, "grad_norm", "lr"}
    assert found["lr"] == [0.75 * (agent.cfg.critic_lr if algo == "TRPO" else 0.5)] * len(found["lr"])
    assert min(found["grad_norm"]) > 1e-3, "before clipping"
    assert set(found["explained_variance"]) == {agent.policy.explained_variance.item()}
