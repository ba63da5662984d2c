"""Policies that remember: what is carried, what a window gives, and a cue that must be recalled."""

import numpy as np
import pytest
import torch

import algos
from algos.base import Progress
from algos.common.settings import NetworkConfig
from config.model.layers import Attention, Gru, Linear, Lstm
from config.read.loader import ConfigError
from framework.loop.learner import AgentLearner
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, collector_of, memory_of, score, spec_of, toy_of, trained, updated
from tests.tools.paths import in_the_suite

REMEMBERS = [Linear(layer_size=[16], activation="tanh"), Gru(layer_size=[16])]
FORGETS = [Linear(layer_size=[16], activation="tanh")]
SETTINGS = {
    "PPO": {"batch_size": 128, "sgd_batch_size": 64, "k_epochs": 4, "lookup_step": 4, "lr": 0.01},
    "A2C": {"batch_size": 64, "lr": 0.01},
    "REINFORCE": {"batch_episode": 16, "lr": 0.01, "baseline": "value"},
    "TRPO": {"batch_size": 128, "sgd_batch_size": 64, "lookup_step": 4, "critic_lr": 0.01, "max_kl": 0.05},
}
ALL_OF_THEM = pytest.mark.parametrize("algo", list(SETTINGS))


def agent(algo, env, actor=REMEMBERS, critic=REMEMBERS, **settings):
    return agent_of(algo, spec_of(env), actor_layers=actor, critic_layers=critic, **{**SETTINGS[algo], **settings})


def window_of(one, env):
    """Columns that its memory hands out first."""
    collector, memory = collector_of(env, one), memory_of(one)
    spec = one.cfg.memory(env.rows)
    while (chunk := memory.take(0.0)) is None:
        memory.add(collector.collect(spec.fragment, Progress())[0])
    return {name: torch.from_numpy(value.copy()) for name, value in chunk.columns.items()}


def test_a_recurrent_network_that_is_called_like_another_says_by_what_it_is_called():
    one = agent("PPO", toy_of("recall", 2))
    with pytest.raises(
        TypeError, match=r"^a recurrent network is called with the states .* by outputs_of\(network, ba"
    ):
        one.policy.critic(torch.zeros(2, 4))


@pytest.mark.parametrize(("actor", "critic"), [(REMEMBERS, REMEMBERS), (REMEMBERS, FORGETS), (FORGETS, REMEMBERS)])
@ALL_OF_THEM
def test_values_and_probabilities_of_a_window_are_those_of_single_steps(algo, actor, critic):
    """TRM-5: computed by hand, step by step, each row with the memory of its own episode."""
    env = toy_of("recall", rows=3, delay=2)
    one = agent(algo, env, actor, critic)
    window = window_of(one, env)
    value, next_value = one.policy.values(window)
    outputs, log_prob = one.policy.before(window)
    policy, state = one.policy, window["state"][0]
    for t in range(len(window["reward"])):
        state = torch.where(window["first"][t].unsqueeze(1), 0.0, state)
        torch.testing.assert_close(state, window["state"][t], atol=1e-5, rtol=1e-4)
        own, beside = (policy.carried.parts(state).get(name) for name in ("actor", "critic"))
        assert value[t].tolist() == pytest.approx(by_hand(policy.critic, window["obs"][t], beside)[0][:, 0].tolist())
        parts = []
        for network, part in ((policy.actor, own), (policy.critic, beside)):
            out, after = by_hand(network, window["obs"][t], part)
            parts += [] if after is None else [after]
            if network is policy.actor:
                torch.testing.assert_close(outputs[t], out)
        state = torch.cat(parts, 1)
        after = policy.carried.parts(state).get("critic")
        expected = by_hand(policy.critic, window["next_obs"][t], after)[0][:, 0]
        torch.testing.assert_close(next_value[t], expected)
    torch.testing.assert_close(log_prob, window["log_prob"], atol=1e-5, rtol=1e-4)


def by_hand(network, obs, state):
    with torch.no_grad():
        return (network(obs), None) if state is None else network.step(obs, state)


CELLS = [*zip(SETTINGS, (Lstm, Gru, Lstm, Gru), strict=True), ("PPO", Attention)]


@pytest.mark.long
@pytest.mark.parametrize(("algo", "cell"), in_the_suite(CELLS, *(each for each in CELLS if each[0] != "TRPO")))
def test_a_cue_seen_at_the_first_step_is_remembered(algo, cell):
    env = toy_of("recall", rows=8, delay=2)
    layers = [Linear(layer_size=[16], activation="tanh"), cell(layer_size=[16])]
    rounds = {"PPO": 10, "A2C": 65, "REINFORCE": 200, "TRPO": 8}[algo]
    one = trained(agent(algo, env, layers, layers), env, rounds)
    assert score(one, toy_of("recall", delay=2)) == 1.0


@ALL_OF_THEM
def test_a_policy_without_a_memory_cannot_remember_it(algo):
    env = toy_of("recall", rows=8, delay=2)
    one = agent(algo, env, FORGETS, FORGETS)
    assert one.initial_state(8) is None
    assert abs(score(trained(one, env, 20), toy_of("recall", delay=2), 100)) < 0.5


@ALL_OF_THEM
def test_every_parameter_moves_with_finite_gradients(algo):
    env = toy_of("recall", rows=4, delay=3)
    one = agent(algo, env)
    before, window = one.weights(), window_of(one, env)
    seen = []
    one.reduce = lambda grads: seen.extend(bool(torch.isfinite(grad).all()) for grad in grads)
    learner = AgentLearner(one, one.cfg.memory(4))
    for batch in learner._minibatches(one.prepare(window, Progress())):
        updated(one, batch)
    assert all(seen)
    assert [name for name, array in one.weights().items() if np.array_equal(array, before[name])] == []


def test_every_algorithm_with_a_network_knows_these_layers():
    configs = {name: algos.get(name).Config for name in algos.learning()}
    networks = {name: config for name, config in configs.items() if issubclass(config, NetworkConfig)}
    assert len(networks) > 20
    without = [name for name, config in networks.items() if not {"lstm", "gru"} <= set(config.SPECIAL_LAYERS)]
    assert without == ["COMA", "HAPPO"], "their READMEs say so"


def test_algorithms_without_a_memory_refuse_these_layers_and_name_those_that_have_one(monkeypatch):
    monkeypatch.setattr(algos.get("SAC").Config, "SPECIAL_LAYERS", ())
    with pytest.raises(ConfigError, match=r"critic_layers: this algorithm does not support lstm layers .DRQN, Recurr"):
        loaded(
            None, "general_cfg.algo_name=SAC", "env_cfg.id=Pendulum-v1",
            "algo_cfg.critic_layers=[{layer_type: lstm, layer_size: 8}]",
        )  # fmt: skip


@pytest.mark.parametrize("algo", ["DQN", "PPO"])
def test_a_branch_has_no_memory(algo):
    with pytest.raises(ConfigError, match=r"branches: a branch cannot have gru layers; put them in the layer list"):
        loaded(
            None, f"general_cfg.algo_name={algo}", "algo_cfg.branches={position: [{layer_type: gru, layer_size: 8}]}"
        )  # fmt: skip
