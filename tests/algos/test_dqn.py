"""DQN: its formulas by hand, what an update touches, and toy tasks whose values are known."""

import numpy as np
import pytest
import torch

from algos.base import Progress
from algos.dqn.config import Config
from algos.dqn.heads import Scalar, Successor
from config.model.layers import mlp
from tests.tools.core import agent_of, prepared_by, ramp, score, spec_of, toy_of, trained


def tensor(*values):
    return torch.tensor(values)


# ----------------------------------------------------------------------------------------------------- formulas

NEXT_Q = tensor([1.0, 3.0], [5.0, 4.0], [2.0, 8.0])


def head(**settings):
    return Scalar(Config(**settings), 2, torch.device("cpu"))


def td_target(reward, discount, next_q, next_q_online):
    return head().target(Successor(reward, discount, next_q, next_q, next_q_online))[0]


def td_loss(q, action, target, huber=False):
    return head(loss="huber" if huber else "mse").loss(q, action, target)


def test_the_target_is_the_reward_plus_the_discounted_best_value():
    """Mnih et al. (2015), equation of y_j; the second state is terminal, the third comes after two steps."""
    # 1 + 0.5 * 3 = 2.5;  2 + 0 = 2;  -1 + 0.25 * 8 = 1
    target = td_target(tensor(1.0, 2.0, -1.0), tensor(0.5, 0.0, 0.25), NEXT_Q, None)
    assert target.tolist() == [2.5, 2.0, 1.0]


def test_double_dqn_judges_the_action_that_the_online_network_prefers():
    """Van Hasselt et al. (2016), equation 4."""
    # preferred: 0, 1, 0, which the target network values 1, 4, 2: 1 + 0.5;  2 + 0;  -1 + 0.5
    online = tensor([9.0, 0.0], [0.0, 9.0], [1.0, 0.5])
    target = td_target(tensor(1.0, 2.0, -1.0), tensor(0.5, 0.0, 0.25), NEXT_Q, online)
    assert target.tolist() == [1.5, 2.0, -0.5]


@pytest.mark.parametrize(
    ("huber", "expected"),
    [
        # values of the actions taken: 2 and 3, targets 4 and 3.5: errors 2 and 0.5
        (False, [4, 0.25]),
        # beyond 1 a Huber loss is |error| - 1/2, within it error^2 / 2
        (True, [1.5, 0.125]),
    ],
)
def test_the_loss_is_of_the_actions_that_were_taken(huber, expected):
    q = tensor([1.0, 2.0], [3.0, 5.0]).requires_grad_()
    each, error = td_loss(q, tensor(1, 0), tensor(4.0, 3.5), huber)
    assert each.tolist() == expected
    assert error.tolist() == [2.0, 0.5]
    assert not error.requires_grad


def test_samples_count_as_much_as_their_weights_say():
    agent, batch = agent_and_batch()
    with torch.no_grad():
        target = td_target(batch["reward"], batch["discount"], agent.target(batch["next_obs"]), None)
        each, _ = td_loss(agent.network(batch["obs"]), batch["action"], target)
    weight = torch.linspace(0, 1, 6)
    assert agent.update({**batch, "weight": weight}).metrics["loss"].item() == pytest.approx((weight * each).mean())


# ------------------------------------------------------------------------------------------------------- updates


def agent_and_batch(seed=1, **settings):
    agent = agent_of("DQN", spec_of(toy_of("match")), seed, value_layers=mlp(8), lr=0.01, **settings)
    columns = ramp(0, 1, 6).columns
    batch = {name: torch.from_numpy(columns[name][0]) for name in ("obs", "reward", "next_obs")}
    batch |= {"action": torch.arange(6) % 2, "discount": torch.tensor([0.9, 0.0] * 3)}
    return agent, {name: value / 1000 if name.endswith("obs") else value for name, value in batch.items()}


def test_the_target_network_moves_only_when_it_is_copied():
    agent, batch = agent_and_batch(target_update=3)
    first = [parameter.clone() for parameter in agent.target.parameters()]
    for update in range(1, 7):
        agent.update(batch)
        assert all(parameter.grad is None for parameter in agent.target.parameters())
        copied = all(torch.equal(a, b) for a, b in zip(agent.target_parameters, agent.parameters, strict=True))
        assert copied == (update % 3 == 0)
        if update < 3:
            assert all(torch.equal(a, b) for a, b in zip(agent.target_parameters, first, strict=True))


def test_a_tau_below_one_mixes_a_share_of_the_online_network():
    agent, batch = agent_and_batch(target_update=1, tau=0.25)
    before = agent.target_parameters[0].clone()
    agent.update(batch)
    torch.testing.assert_close(agent.target_parameters[0], 0.75 * before + 0.25 * agent.parameters[0])


def test_the_loss_is_that_of_the_formulas_and_no_gradient_flows_through_the_target():
    agent, batch = agent_and_batch(double=True, reward_scale=0.5, target_update=99)
    agent.load_weights(agent_and_batch(seed=4)[0].weights())  # now the two networks differ
    with torch.no_grad():
        known = batch["reward"] * 0.5, batch["discount"], agent.target(batch["next_obs"])
        target = td_target(*known, agent.network(batch["next_obs"]))
        assert not torch.equal(target, td_target(*known, None))
    loss = td_loss(agent.network(batch["obs"]), batch["action"], target)[0].mean()
    expected = torch.autograd.grad(loss, agent.parameters)
    seen = []
    agent.reduce = lambda grads: seen.extend(grad.clone() for grad in grads)
    assert agent.update(batch).metrics["loss"].item() == loss.item()
    torch.testing.assert_close(seen, list(expected))


def test_priorities_are_the_sizes_of_the_errors_and_come_only_where_they_are_asked_for():
    agent, batch = agent_and_batch()
    assert agent.update(batch).priorities is None
    with torch.no_grad():
        target = td_target(batch["reward"], batch["discount"], agent.target(batch["next_obs"]), None)
        error = target - agent.network(batch["obs"]).gather(1, batch["action"][:, None])[:, 0]
    priorities = agent.update({**batch, "weight": torch.ones(6)}).priorities
    torch.testing.assert_close(priorities, error.abs())


def test_the_learning_rate_follows_the_course_of_the_run():
    agent, batch = agent_and_batch(lr_schedule="linear")
    prepared_by(agent, {key: value[None] for key, value in batch.items()}, Progress(fraction=0.75))
    assert agent.optimizer.param_groups[0]["lr"] == pytest.approx(0.0025)


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop"])
def test_the_learning_rate_follows_the_course_of_the_run_after_a_state_was_loaded(optimizer):
    """torch's optimizers replace their parameter groups then."""
    agent, batch = agent_and_batch(lr_schedule="linear", optimizer=optimizer)
    chunk = {key: value[None] for key, value in batch.items()}
    prepared_by(agent, chunk, Progress(fraction=0.25))
    agent.load_state(agent.state())
    prepared_by(agent, chunk, Progress(fraction=0.75))
    assert agent.optimizer.param_groups[0]["lr"] == pytest.approx(0.0025)


def test_the_epsilon_of_adam_holds_a_step_back():
    # the first step of Adam is lr g / (|g| + epsilon): with an epsilon far above any gradient it is lr g / epsilon
    moved = []
    for epsilon in (1e2, 1e3):
        agent, batch = agent_and_batch(adam_epsilon=epsilon)
        before = [p.detach().clone() for p in agent.parameters]
        agent.update(batch)
        moved.append(max(float((p.detach() - q).abs().max()) for p, q in zip(agent.parameters, before, strict=True)))
    assert moved[0] == pytest.approx(10 * moved[1], rel=0.05)


def test_epsilon_falls_with_the_steps_of_the_run():
    """The quick start's 0.95 to 0.01 with 500 steps."""
    agent, _ = agent_and_batch()
    epsilon = [agent.exploration(Progress(step=step))["epsilon"] for step in (0, 500, 10**6)]
    assert epsilon == pytest.approx([0.95, 0.01 + 0.94 * np.exp(-1), 0.01])


def test_statistics_of_observations_are_learned_shared_with_the_target_and_part_of_the_weights():
    agent, batch = agent_and_batch(normalize_obs=True)
    agent.observe(batch["obs"])
    assert agent.normalizer.moments.mean.item() == pytest.approx(batch["obs"].double().mean().item())
    assert agent.target[0] is agent.network[0] is agent.normalizer
    other, _ = agent_and_batch(normalize_obs=True)
    other.load_weights(agent.weights())
    assert torch.equal(other.normalizer.moments.mean, agent.normalizer.moments.mean)
    np.testing.assert_array_equal(other.values(batch["obs"].numpy())[0], agent.values(batch["obs"].numpy())[0])


# --------------------------------------------------------------------------------------------------------- tasks

QUICK = {"value_layers": mlp(16, activation="tanh"), "lr": 0.01, "batch_size": 32, "target_update": 2}


def values(agent, *obs):
    return agent.values(np.array(obs, np.float32)[:, None])[0]


@pytest.mark.parametrize("n_step", [1, 3])
def test_the_value_goes_on_past_a_time_limit(n_step):
    """TRM-1: reward 1 for ever, cut off after 5 steps, gamma 0.8: 1 / (1 - 0.8) = 5. Who took the cut for an end
    would learn at most 1 + 0.8 + .. + 0.8^4 = 3.4."""
    env = toy_of("time_limit", steps=5)
    agent = trained(agent_of("DQN", spec_of(env), gamma=0.8, n_step=n_step, **{**QUICK, "lr": 0.03}), env, 150)
    assert values(agent, 0) == pytest.approx(5.0, abs=0.3)


@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, {"double": True, "dueling": True}, {"n_step": 2}, {"buffer_type": "PER"}])
def test_a_reward_one_step_later_is_worth_gamma(settings):
    """TRM-1: the second step ends the episode with 1, so that the first is worth 0.8 and nothing comes after."""
    env = toy_of("two_step")
    agent = trained(agent_of("DQN", spec_of(env), gamma=0.8, **settings, **QUICK), env, 200)
    np.testing.assert_allclose(values(agent, 0, 1), [[0.8, 0.8], [1.0, 1.0]], atol=0.1)


@pytest.mark.parametrize("settings", [{}, {"loss": "huber", "double": True}, {"dueling": True, "normalize_obs": True}])
def test_the_action_that_fits_the_observation_is_learned(settings):
    env = toy_of("match")
    agent = trained(agent_of("DQN", spec_of(env), epsilon_decay=100, **settings, **QUICK), env, 75)
    assert score(agent, env) == 1.0
