"""The rule of PPO's ratios: before the first gradient step, pi(a|s) is what the window says of it, so each is 1."""

import itertools

import pytest
import torch

from algos.base import Progress
from config.model.layers import Gru, Linear, Lstm
from framework.loop.learner import AgentLearner
from tests.tools.core import agent_of, cartpole, collector_of, memory_of, spec_of

MEMORY = {"lstm": [Lstm(layer_size=[16])], "gru": [Gru(layer_size=[16])], "none": []}
LOOKUP = 8


def windows(agent, env, count):
    """Prepared windows of fresh steps, as minibatches in their first order; the weights stay as they are."""
    collector, memory = collector_of(env, agent), memory_of(agent)
    learner = AgentLearner(agent, agent.cfg.memory(env.rows))
    for _ in range(count):
        memory.add(collector.collect(memory.spec.fragment, Progress())[0])
        window = {name: torch.from_numpy(column.copy()) for name, column in memory.take(0.0).columns.items()}
        yield list(learner._minibatches(agent.prepare(window, Progress())))


def trained_size(agent):
    """Outputs as large as those of a trained policy: the first ones are all but 0 and hide every difference."""
    with torch.no_grad():
        for name, parameter in agent.policy.actor.named_parameters():
            if parameter.ndim == 2 and len(parameter) == agent.policy.distribution.outputs:
                assert "weight" in name
                parameter.mul_(2000.0)


@pytest.mark.parametrize(
    ("memory", "normalize_obs", "ppo_type"), list(itertools.product(MEMORY, (False, True), ("clip", "kl")))
)
def test_before_the_first_gradient_step_every_ratio_is_one(memory, normalize_obs, ppo_type):
    """Also where new statistics of the observations change what stored states would have been."""
    env = cartpole("native", 4)()
    layers = [Linear(layer_size=[16], activation="tanh"), *MEMORY[memory]]
    settings = {"batch_size": 128, "sgd_batch_size": 32, "k_epochs": 1, "lookup_step": LOOKUP}
    agent = agent_of(
        "PPO", spec_of(env), actor_layers=layers, critic_layers=layers, normalize_obs=normalize_obs, ppo_type=ppo_type,
        **settings,
    )  # fmt: skip
    trained_size(agent)
    policy, spread = agent.policy, []
    for batches in windows(agent, env, 4):
        assert len(batches) == 4
        for batch in batches:
            seen = policy.carried.with_views(batch)
            with torch.no_grad():
                outputs = policy.outputs(seen)
                log_ratio = policy.distribution.log_prob(outputs, seen["drawn"]) - seen["log_prob"]
                assert log_ratio.abs().max().item() < 1e-5
                if ppo_type == "kl":
                    assert policy.distribution.kl(seen["old"], outputs).abs().max().item() < 1e-5
            spread.append((outputs[:, 0] - outputs[:, 1]).abs().max().item())
    assert max(spread) > 1.0
