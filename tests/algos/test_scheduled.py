"""Settings of agents that are schedules: what learns and what acts by them, and what a run shows of them."""

from typing import Any

import numpy as np
import pytest
import torch

from algos.base import Agent, Progress
from algos.dqn.heads import soft_value
from config.model.layers import mlp
from framework.loop.learner import AgentLearner
from tests.tools.compiler import can_compile, programs
from tests.tools.core import agent_of, collector_of, memory_of, spec_of, toy_of

__all__ = ["can_compile", "programs"]
LAYERS = {"actor_layers": mlp(4), "critic_layers": mlp(4)}
PPO = {**LAYERS, "batch_size": 16, "sgd_batch_size": 8, "k_epochs": 1, "lr_schedule": "constant"}


def falling(first: float, last: float) -> dict[str, Any]:
    return {"linear": [first, last]}


def agent_for(algo: str, toy: str = "match", **settings: Any) -> Agent:
    return agent_of(algo, spec_of(toy_of(toy, 2)), **settings)


def learned(agent: Agent, toy: str, *fractions: float, samples: int = 0) -> dict[str, list[float]]:
    """Metrics of the last of some chunks, which are learned at these fractions of a run. samples: of a minibatch whose
    steps are compiled."""
    env = toy_of(toy, 2)
    collector, kept = collector_of(env, agent), memory_of(agent)
    learner = AgentLearner(agent, agent.cfg.memory(2))
    metrics: dict[str, list[float]] = {}
    for step in agent.gradient_steps() if samples else ():
        step.compile(samples)
    for fraction in fractions:
        progress = Progress(collector.steps * 2, fraction=fraction)
        while (chunk := kept.take(fraction)) is None:
            kept.add(collector.collect(learner.spec.fragment, progress)[0])
        metrics = learner.learn(chunk, progress).metrics
        collector.settle()
    return metrics


def test_an_update_has_the_values_of_its_fraction_and_tells_them() -> None:
    agent = agent_for("PPO", **PPO, lr=falling(0.4, 0.0), entropy_coef=falling(0.08, 0.0), eps_clip=falling(0.2, 0.1))
    assert agent.metric_names()[-3:] == ("lr", "entropy_coef", "eps_clip")
    metrics = learned(agent, "match", 0.25)
    assert metrics["lr"] == pytest.approx([0.3, 0.3])
    assert metrics["entropy_coef"] == pytest.approx([0.06, 0.06])
    assert metrics["eps_clip"] == pytest.approx([0.175, 0.175])
    assert float(agent.now.entropy_coef) == pytest.approx(0.06)


@pytest.mark.parametrize(("algo", "setting"), [("PPO", "entropy_coef"), ("A2C", "entropy_coef"), ("PPO", "eps_clip")])
def test_learning_at_a_fraction_is_learning_with_the_value_there(algo: str, setting: str) -> None:
    """At half of the way from 0.4 to 0.2 an update is that of 0.3, to the bit; one of 0.4 is another."""
    settings = {**LAYERS, "batch_size": 16, **({"sgd_batch_size": 4, "k_epochs": 9} if algo == "PPO" else {})}

    def weights(value: Any) -> np.ndarray:
        agent = agent_for(algo, **settings, lr_schedule="constant", lr=0.05, **{setting: value})
        learned(agent, "match", 0.5, 0.5, 0.5)
        return np.concatenate([array.ravel() for array in agent.weights().values()])

    followed = weights(falling(0.4, 0.2))
    np.testing.assert_allclose(followed, weights(0.3), atol=1e-7)
    assert np.abs(followed - weights(0.4)).max() > 1e-6


def test_exploration_follows_the_fraction_of_the_run() -> None:
    halfway = Progress(step=10**6, fraction=0.5)
    assert agent_for("DQN", epsilon=falling(1.0, 0.2)).exploration(halfway) == {"epsilon": pytest.approx(0.6)}
    assert agent_for("DQN", epsilon=0.3).exploration(halfway) == {"epsilon": 0.3}
    soft = agent_for("DQN", exploration_type="softmax", temperature=falling(2.0, 1.0))
    assert soft.exploration(halfway) == {"temperature": pytest.approx(1.5)}
    assert not soft.scheduled(halfway), "exploration tells it"
    table = agent_for("QLearning", "walk", lr=falling(0.5, 0.1), epsilon={"constant": 0.2})
    assert table.exploration(halfway) == {"epsilon": 0.2}
    assert table.scheduled(halfway) == {"lr": pytest.approx(0.3)}


def test_action_noise_follows_the_fraction_of_the_run() -> None:
    """Noise of equal draws is twice as large where expl_noise is."""
    settings = {**LAYERS, "start_steps": 0, "exploration_type": "gaussian"}
    agent = agent_for("TD3", "target", **settings, expl_noise=falling(0.02, 0.0))
    obs = np.zeros((2, *agent.spec.observation_space.shape), np.float32)
    still = agent.predict_action(obs, None).action
    noise = [
        agent.sample_action(obs, None, Progress(fraction=fraction), np.random.default_rng(0)).action - still
        for fraction in (0.0, 0.5, 1.0)
    ]
    np.testing.assert_allclose(noise[0], 2 * noise[1], rtol=1e-4)
    assert np.abs(noise[0]).max() > 0
    assert not noise[2].any()
    assert agent.scheduled(Progress(fraction=0.5)) == {"expl_noise": pytest.approx(0.01)}


def test_the_soft_value_has_the_temperature_of_the_fraction() -> None:
    """ln(e^0 + e^0) T = 0.693 T."""
    agent = agent_for("SoftQ", temperature=falling(0.4, 0.2))
    agent.follow(Progress(fraction=0.5))
    assert soft_value(torch.zeros(1, 2), agent.now.temperature).item() == pytest.approx(0.3 * np.log(2))


def test_priorities_are_corrected_by_the_schedule_of_beta() -> None:
    memory = agent_for("PER_DQN", per_beta=falling(0.2, 0.6)).cfg.memory(2)
    assert memory.priority_beta.at(0.5) == pytest.approx(0.4)
    assert agent_for("PER_DQN", per_beta=0.4).cfg.memory(2).priority_beta.at(0.5) == pytest.approx(0.7)


@pytest.mark.usefixtures("programs")
def test_a_compiled_step_reads_the_values_anew() -> None:
    """A number would be frozen at the first call."""
    settings = {**PPO, "lr": 0.05, "entropy_coef": falling(0.5, 0.0), "eps_clip": falling(0.3, 0.01)}

    def weights(samples: int) -> np.ndarray:
        agent = agent_for("PPO", **settings)
        learned(agent, "match", 0.0, 0.4, 0.8, 0.9, samples=samples)
        assert all(step.package for step in agent.gradient_steps()) == bool(samples)
        return np.concatenate([array.ravel() for array in agent.weights().values()])

    np.testing.assert_allclose(weights(8), weights(0), rtol=1e-5, atol=1e-6)
