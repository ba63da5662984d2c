"""PQN: its targets by hand, what an update touches, and toy tasks whose values are known."""

import numpy as np
import pytest
import torch

from algos.base import Progress
from algos.pqn.agent import lambda_returns
from config.model.layers import Gru, Linear
from framework.loop.learner import AgentLearner
from tests.tools.core import agent_of, collector_of, memory_of, score, spec_of, toy_of, trained


def column(*values):
    return torch.tensor(values).unsqueeze(1)


def flags(*values):
    return torch.tensor([bool(value) for value in values]).unsqueeze(1)


def test_a_lambda_return_mixes_the_next_return_with_the_best_next_value():
    """Gallici et al. (2024), equation 6, with gamma 0.5 and lambda 0.5; from the last step to the first:
    3 + 0.5 * 8 = 7;  2 + 0.5 (0.5 * 7 + 0.5 * 4) = 4.75;  1 + 0.5 (0.5 * 4.75 + 0.5 * 2) = 2.6875."""
    none = flags(0, 0, 0)
    returns = lambda_returns(column(1.0, 2.0, 3.0), column(2.0, 4.0, 8.0), none, none, 0.5, 0.5)
    assert returns.flatten().tolist() == [2.6875, 4.75, 7.0]


def test_nothing_flows_over_an_end_and_only_a_time_limit_is_worth_its_successor():
    """TRM-1, TRM-3, TRM-4: the first step is truncated, 1 + 0.5 * 2; the second terminated, 2; the third is both."""
    returns = lambda_returns(
        column(1.0, 2.0, 3.0), column(2.0, 4.0, 8.0), flags(0, 1, 1), flags(1, 0, 1), gamma=0.5, lam=0.5
    )
    assert returns.flatten().tolist() == [2.0, 2.0, 3.0]


def test_the_target_takes_the_best_legal_next_action():
    env = toy_of("match", rows=2)
    agent = agent_of("PQN", spec_of(env), batch_size=2, sgd_batch_size=2, q_lambda=0.0)
    window = {
        "obs": torch.zeros(1, 2, 1), "next_obs": torch.ones(1, 2, 1), "action": torch.zeros(1, 2, dtype=torch.long),
        "reward": torch.zeros(1, 2), "terminated": torch.zeros(1, 2, dtype=torch.bool),
        "truncated": torch.zeros(1, 2, dtype=torch.bool),
    }  # fmt: skip
    values, _ = agent.values(np.ones((1, 1), np.float32))
    for action in (0, 1):
        legal = torch.zeros(1, 2, 2, dtype=torch.bool)
        legal[..., action] = True
        target = agent.prepare({**window, "next_action_mask": legal}, Progress())["target"]
        np.testing.assert_allclose(target[0], 0.99 * values[0, action] * np.ones(2), rtol=1e-5)


SMALL = {"batch_size": 64, "sgd_batch_size": 32, "epsilon_decay": 2000, "lr": 3e-3}
CELLS = {"lookup_step": 4, "batch_size": 64, "sgd_batch_size": 32, "lr": 0.01, "epsilon_decay": 2000}


@pytest.mark.long
def test_the_action_that_fits_the_observation_is_learned():
    env = toy_of("match", rows=8)
    assert score(trained(agent_of("PQN", spec_of(env), **SMALL), env, 20), toy_of("match")) == 1.0


@pytest.mark.long
def test_a_cue_seen_at_the_first_step_is_remembered():
    env = toy_of("recall", rows=8, delay=2)
    layers = [Linear(layer_size=[16]), Gru(layer_size=[16])]
    agent = agent_of("PQN", spec_of(env), value_layers=layers, **CELLS)
    assert score(trained(agent, env, 50), toy_of("recall", delay=2)) == 1.0


@pytest.mark.long
def test_the_value_goes_on_past_a_time_limit():
    """TRM-1: reward 1 for ever, cut off after 5 steps, gamma 0.8: 5. Taking the cut for an end gives at most 3.4."""
    env = toy_of("time_limit", rows=4, steps=5)
    agent = trained(agent_of("PQN", spec_of(env), gamma=0.8, **{**SMALL, "lr": 0.01}), env, 30)
    assert agent.values(np.zeros((1, 1), np.float32))[0].max() == pytest.approx(5.0, abs=0.2)


@pytest.mark.parametrize("layers", [None, [Linear(layer_size=[8]), Gru(layer_size=[8])]])
def test_every_parameter_moves_with_finite_gradients_of_limited_length(layers):
    env = toy_of("match", rows=4, steps=3)
    settings = {} if layers is None else {"value_layers": layers, "lookup_step": 4}
    agent = agent_of("PQN", spec_of(env), **{**SMALL, **settings}, max_grad_norm=0.1)
    collector, memory, before = collector_of(env, agent), memory_of(agent), agent.weights()
    learner = AgentLearner(agent, agent.cfg.memory(env.rows))
    memory.add(collector.collect(learner.spec.fragment, Progress())[0])
    learned = learner.learn(memory.take(0.0), Progress())
    assert np.isfinite(list(learned.metrics.values())).all()
    assert learned.updates == 8
    assert [name for name, array in agent.weights().items() if np.array_equal(array, before[name])] == []
