"""REINFORCE, A2C and TRPO: their formulas by hand, windows, masks and toy tasks."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from helpers_core import agent_of, collector_of, memory_of, ramp, score, spec_of, toy_of, trained

from algos.base import EnvSpec, Progress
from algos.common.actor_critic import policy_loss, squared_error
from algos.reinforce import Config as Reinforce
from algos.reinforce.agent import monte_carlo, scaled
from algos.trpo.agent import surrogate
from algos.trpo.natural_gradient import conjugate_gradient, flat, hessian_product, longest_step, place
from config.schema import mlp
from envs.base import Step, VectorEnv
from framework.learner import Learner
from framework.memory import Chunk

LAYERS = {"actor_layers": mlp(16, activation="tanh"), "critic_layers": mlp(16, activation="tanh")}
QUICK = {
    "A2C": {**LAYERS, "lr": 0.01, "batch_size": 64},
    "PPO": {**LAYERS, "lr": 0.01, "batch_size": 128, "sgd_batch_size": 64, "k_epochs": 4},
    "REINFORCE": {"actor_layers": LAYERS["actor_layers"], "lr": 0.02, "batch_episode": 64},
    "TRPO": {**LAYERS, "critic_lr": 0.01, "batch_size": 128, "max_kl": 0.05},
}
ROUNDS = {"A2C": 60, "PPO": 15, "REINFORCE": 200, "TRPO": 12}
"""Fragments; one of REINFORCE is a single step."""
every_algorithm = pytest.mark.parametrize("algo", QUICK)


def tensor(*values):
    return torch.tensor(values)


def quick(algo, env, seed=1, **settings):
    return agent_of(algo, spec_of(env), seed, **{**QUICK[algo], **settings})


# -------------------------------------------------------------------------------------------------- policy loss


def test_the_policy_loss_is_the_mean_of_log_probabilities_times_advantages():
    """Mnih et al. (2016), section 4: the gradient log pi(a|s) A, here to be made small."""
    log_prob = tensor(-1.0, -2.0).requires_grad_()
    loss = policy_loss(log_prob, tensor(3.0, -1.0))
    loss.backward()
    assert loss.item() == -(-3 + 2) / 2
    assert log_prob.grad.tolist() == [-1.5, 0.5]
    assert squared_error(tensor(2.0, 1.0), tensor(3.0, 3.0)).item() == 0.5 * (1 + 4) / 2


def learning(algo, toy="match", rows=2, steps=8, **settings):
    """An agent, and the window that its memory hands out after so many steps."""
    env = toy_of(toy, rows)
    size = {} if algo == "REINFORCE" else {"batch_size": rows * steps}
    agent = quick(algo, env, **size, **settings)
    memory = memory_of(agent)
    while (chunk := memory.take(0.0)) is None:
        memory.add(collector_of(env, agent).collect(agent.cfg.memory(rows).fragment, Progress())[0])
    return agent, {name: torch.from_numpy(value.copy()) for name, value in chunk.columns.items()}


def samples(window):
    return {name: value.flatten(0, 1) for name, value in window.items()}


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
            agent.update({**batch, "advantage": scale * batch["advantage"]})
            lengths.append(flat(seen).norm().item())
        assert lengths[1] / lengths[0] == pytest.approx(factor, rel=1e-4)


def prepared(algo, ends, **settings):
    """Three steps with rewards 1, 2, 3 and observations 0, 1, 2; the successor of an end or of the last step is half
    a step further. The critic is the identity, gamma is 1/2."""
    spec = EnvSpec("x", Box(-9, 9, (1,)), toy_of("match").action_space, 1)
    agent = agent_of(algo, spec, gamma=0.5, **settings)
    if agent.policy.critic is not None:
        agent.policy.critic = lambda obs: obs
        agent.networks = torch.nn.ModuleDict({"actor": agent.policy.actor})
    columns = {name: torch.from_numpy(value) for name, value in ramp(0, 3, 1, ends).columns.items()}
    valid = torch.ones(3, 1, dtype=torch.bool)
    return agent.prepare({**columns, "valid": valid}, Progress())


@pytest.mark.parametrize("algo", ["A2C", "A3C", "TRPO"])
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
    window = prepared(algo, ends, gae_lambda=1.0)
    assert window["target"][:, 0].tolist() == pytest.approx(target)
    assert window["advantage"][:, 0].tolist() == pytest.approx([t - v for t, v in zip(target, (0, 1, 2), strict=True)])


def test_a3c_is_a2c_in_one_process():
    one, window = learning("A2C")
    other = agent_of("A3C", one.spec, **{**QUICK["A2C"], "batch_size": 16})
    for agent in (one, other):
        agent.update(samples(agent.prepare(dict(window), Progress())))
    np.testing.assert_equal(other.weights(), one.weights())


@pytest.mark.parametrize(("algo", "lr"), [("A2C", "lr"), ("REINFORCE", "lr"), ("TRPO", "critic_lr")])
def test_the_learning_rate_follows_the_course_of_the_run(algo, lr):
    agent, window = learning(algo, lr_schedule="linear", **{lr: 0.04})
    agent.prepare(window, Progress(fraction=0.75))
    assert all(group["lr"] == pytest.approx(0.01) for group in agent.optimizer.param_groups)


# ---------------------------------------------------------------------------------------------------- REINFORCE


def test_a_monte_carlo_return_is_what_the_episode_still_brings():
    """Williams (1992); rewards 1, 2, 3, 4 with gamma 1/2, the first episode ends after the second step."""
    # 1 + 2/2 = 2, 2;  3 + 4/2 = 5, 4
    ended = tensor(False, True, False, True)[:, None]
    assert monte_carlo(tensor(1.0, 2.0, 3.0, 4.0)[:, None], ended, 0.5)[:, 0].tolist() == [2, 2, 5, 4]


def test_advantages_are_divided_by_the_root_mean_square_of_valid_steps():
    """NUM-1: sqrt((9 + 16 + 25) / 2) = 5 of the valid 5 and 5; nothing is divided by nothing."""
    assert scaled(tensor(5.0, 99.0, -5.0), tensor(True, False, True)).tolist() == pytest.approx([1, 19.8, -1])
    assert scaled(tensor(0.0, 0.0), tensor(True, True)).tolist() == [0, 0]


END = {(2, 0): "terminated"}
CUT = {(0, 0): "terminated", (2, 0): "truncated"}


@pytest.mark.parametrize(
    ("baseline", "ends", "target", "advantage"),
    [
        # 1 + 3.5/2, 2 + 3/2, 3
        ("none", END, [2.75, 3.5, 3], [2.75, 3.5, 3]),
        # their mean is 9.25 / 3
        ("mean", END, [2.75, 3.5, 3], [2.75 - 9.25 / 3, 3.5 - 9.25 / 3, 3 - 9.25 / 3]),
        ("value", END, [2.75, 3.5, 3], [2.75 - 0, 3.5 - 1, 3 - 2]),
        # cut off at observation 2.5: unknown without a critic, else 3 + 2.5/2 = 4.25 and 2 + 4.25/2
        ("none", CUT, [1, 3.5, 3], [1, 3.5, 3]),
        ("value", CUT, [1, 4.125, 4.25], [1 - 0, 4.125 - 1, 4.25 - 2]),
    ],
)
def test_each_baseline_is_subtracted_and_a_cut_is_worth_what_a_critic_says(baseline, ends, target, advantage):
    """TRM-1"""
    window = prepared("REINFORCE", ends, baseline=baseline, normalize_advantage=False)
    assert window["target"][:, 0].tolist() == pytest.approx(target)
    assert window["advantage"][:, 0].tolist() == pytest.approx(advantage)


def test_steps_that_were_handed_out_before_move_no_statistic():
    agent = quick("REINFORCE", toy_of("match"), normalize_obs=True)
    columns = {
        name: torch.from_numpy(value) for name, value in ramp(0, 3, 1, {(0, 0): "terminated", **END}).columns.items()
    }
    window = agent.prepare({**columns, "valid": tensor(False, True, True)[:, None]}, Progress())
    assert agent.normalizer.moments.mean.item() == 1.5
    # returns with gamma 0.99: 2 + 2.97 = 4.97 and 3, so 0.985 each from their mean
    assert window["advantage"][1:, 0].tolist() == pytest.approx([1, -1])


def test_an_update_waits_for_so_many_complete_episodes():
    env = toy_of("two_step", 4)
    agent, rounds = quick("REINFORCE", env, batch_episode=6), 0
    memory, collector = memory_of(agent), collector_of(env, agent)
    while (chunk := memory.take(0.0)) is None:
        memory.add(collector.collect(1, Progress())[0])
        rounds += 1
    # episodes of two steps in four rows: after four steps eight are complete, and all of them are taken
    assert (rounds, chunk.columns["valid"].sum()) == (4, 16)


def test_settings_of_the_value_are_named_where_nothing_has_a_value():
    assert [p.key for p in Reinforce(critic_lr=0.1, value_coef=1.0).problems()] == ["critic_lr", "value_coef"]
    assert list(Reinforce(baseline="value", critic_lr=0.1).problems()) == []
    assert "critic.0.weight" not in learning("REINFORCE")[0].weights()


# --------------------------------------------------------------------------------------------------------- TRPO

MATRIX = tensor([4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0])


def test_conjugate_gradients_solve_a_system_in_as_many_steps_as_it_has_unknowns():
    """The 2 x 2 example of every textbook: x = (1/11, 7/11). One step goes along b by b^T b / b^T A b = 5/20."""
    small, b = tensor([4.0, 1.0], [1.0, 3.0]), tensor(1.0, 2.0)
    assert conjugate_gradient(lambda v: small @ v, b, 1).tolist() == [0.25, 0.5]
    assert conjugate_gradient(lambda v: small @ v, b, 2).tolist() == pytest.approx([1 / 11, 7 / 11])
    # 4 x + y = 6, x + 3 y + z = 10, y + 2 z = 8
    x = conjugate_gradient(lambda v: MATRIX @ v, tensor(6.0, 10.0, 8.0), 3)
    assert x.tolist() == pytest.approx([1, 2, 3], rel=1e-5)
    many = conjugate_gradient(lambda v: MATRIX @ v, tensor(6.0, 10.0, 8.0), 50)
    assert many.tolist() == pytest.approx([1, 2, 3], rel=1e-5)
    assert conjugate_gradient(lambda v: MATRIX @ v, torch.zeros(3), 3).tolist() == [0, 0, 0]


def test_a_product_with_second_derivatives_needs_no_matrix():
    """Of f = x^3 + x y^2 at (2, 3): the matrix (6 x, 2 y; 2 y, 2 x) = (12, 6; 6, 4)."""
    x, y = tensor(2.0).requires_grad_(), tensor(3.0).requires_grad_()
    product = hessian_product(x**3 + x * y**2, [x, y])
    assert product(tensor(1.0, 0.0)).tolist() == [12, 6]
    assert product(tensor(1.0, -1.0)).tolist() == [6, 2]


def test_the_longest_step_reaches_the_limit_of_the_quadratic_model():
    """Appendix C: sqrt(2 delta / x^T H x); with x = (1, 0), H = diag(8, 1), delta 1/4, it is sqrt(0.5 / 8) = 1/4."""
    step = longest_step(tensor(1.0, 0.0), lambda v: tensor(8.0, 1.0) * v, 0.25)
    assert step.tolist() == [0.25, 0]
    assert 0.5 * step @ (tensor(8.0, 1.0) * step) == 0.25
    assert longest_step(torch.zeros(2), lambda v: v, 0.25).tolist() == [0, 0]


def test_a_step_is_placed_in_the_memory_that_the_parameters_have():
    parameters = [torch.zeros(2, 2), torch.ones(1)]
    start, where = [p.clone() for p in parameters], [p.data_ptr() for p in parameters]
    place(parameters, start, tensor(1.0, 2.0, 3.0, 4.0, 5.0))
    assert flat(parameters).tolist() == [1, 2, 3, 4, 6]
    assert [p.data_ptr() for p in parameters] == where


def test_the_surrogate_is_the_mean_of_ratios_times_advantages():
    """Schulman et al. (2015), equation 14: (1.5 * 2 - 0.5 * 1) / 2."""
    old = tensor(-1.0, -3.0)
    assert surrogate(old + tensor(1.5, 0.5).log(), old, tensor(2.0, -1.0)).item() == pytest.approx(1.25)


@pytest.mark.parametrize("toy", ["match", "digits", "bits", "target"])
def test_a_step_stays_within_the_limit_and_uses_most_of_it(toy):
    agent, window = learning("TRPO", toy, rows=16, steps=16, max_kl=0.02)
    batch = samples(agent.prepare(window, Progress()))
    old = agent.policy.outputs(batch).detach()
    metrics = agent.update(batch).metrics
    kl = agent.policy.distribution.kl(old, agent.policy.outputs(batch)).mean().item()
    assert metrics["kl"].item() == pytest.approx(kl, rel=1e-3)
    assert 0.002 < kl <= 0.02
    assert metrics["gain"] > 0


def test_the_direction_solves_the_damped_system_of_the_fisher_matrix():
    """F of a policy whose two logits are parameters: with p = (1/4, 3/4) it is p1 p2 (1, -1; -1, 1)."""
    agent, _ = learning("TRPO", cg_damping=0.5, normalize_advantage=False)
    logits = torch.nn.Parameter(torch.tensor([0.0, math.log(3.0)]))
    agent.policy.actor, agent.policy_parameters = (lambda obs: logits.expand(len(obs), 2)), [logits]
    # both actions with advantage 1 and -1: g = mean A (1[a] - p) = ((3/4, -3/4) - (-1/4, 1/4)) / 2 = (1/2, -1/2)
    batch = {"obs": torch.zeros(2, 1), "drawn": tensor(0, 1), "advantage": tensor(1.0, -1.0)}
    step, _ = agent._full_step(batch)
    # (F + I/2) x = g: (1, -1) is an eigenvector, of 2 * 3/16 + 1/2 = 7/8, so x = (4/7, -4/7)
    length = math.sqrt(2 * 0.05 / (7 / 8 * 2 * (4 / 7) ** 2))
    assert step.tolist() == pytest.approx([4 / 7 * length, -4 / 7 * length], rel=1e-4)


def test_a_step_that_does_no_good_is_not_taken():
    agent, window = learning("TRPO")
    batch = samples(agent.prepare(window, Progress()))
    agent._full_step = lambda batch, real=agent._full_step: (-real(batch)[0], tensor(0.0)[0])
    before = agent.weights()
    metrics = agent.update(batch).metrics
    after = agent.weights()
    assert metrics["kl"] == metrics["step"] == metrics["gain"] == 0
    same = {name for name in before if (before[name] == after[name]).all()}
    assert same == {name for name in before if name.startswith("actor")}


def test_too_long_a_step_is_halved_until_it_is_near_enough():
    agent, window = learning("TRPO", rows=16, steps=16)
    batch = samples(agent.prepare(window, Progress()))
    agent._full_step = lambda batch, real=agent._full_step: (4 * real(batch)[0], tensor(0.0)[0])
    metrics = agent.update(batch).metrics
    assert metrics["step"].item() in (0.5, 0.25, 0.125)
    assert 0 < metrics["kl"] <= 0.05


def test_several_learners_agree_on_the_gradient_its_products_the_search_and_the_value():
    """What `reduce` leaves is what is used: with the gradient turned around, no step does good."""
    agent, window = learning("TRPO", cg_steps=1)
    sizes = []

    def turn_the_first_around(grads):
        grads = list(grads)
        sizes.append(sum(grad.numel() for grad in grads))
        if len(sizes) == 1:
            grads[0].neg_()

    agent.reduce = turn_the_first_around
    assert agent.update(samples(agent.prepare(window, Progress()))).metrics["step"] == 0
    policy, value = (sum(p.numel() for p in network.parameters()) for network in agent.networks.children())
    # the gradient, one direction and the length; ten tries; ten epochs of one minibatch
    assert sizes == [policy] * 3 + [2] * 10 + [value] * 10


# -------------------------------------------------------------------------------------------------------- masks


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
    learned = Learner(agent, agent.cfg.memory(16)).learn(Chunk(columns), Progress())
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


# -------------------------------------------------------------------------------------------------------- tasks


def value_of(agent, obs):
    return agent.policy.critic(torch.tensor([[obs]], dtype=torch.float32)).item()


@pytest.mark.parametrize(
    ("algo", "settings", "rounds"),
    [
        ("A2C", {"lr": 0.05}, 80),
        ("TRPO", {"critic_lr": 0.03}, 15),
        ("REINFORCE", {"baseline": "value", "lr": 0.1, "batch_episode": 4}, 700),
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


@pytest.mark.parametrize("algo", ["A2C", "REINFORCE", "TRPO"])
def test_a_continuous_action_comes_to_its_target(algo):
    """The best return is 0, that of standing still -1/3."""
    env = toy_of("target", 8)
    agent = trained(quick(algo, env, log_std_init=-1.0), env, 2 * ROUNDS[algo])
    assert score(agent, toy_of("target", 8)) > -0.05
