"""Target networks: when those of actor-critics move, and how far; dropout in those of all algorithms."""

from dataclasses import replace

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

import algos
from algos.common.nets.custom import Custom, CustomCell, learns
from algos.common.nets.layers import RandomZeros
from algos.common.settings import TargetConfig
from config.model import layers as layer_settings
from config.model.layers import Dropout, Linear
from tests.tools.actor_critic import ALL, agent_for, batch_for, spec_for, target_of
from tests.tools.core import agent_of
from tests.tools.joint import joint_spec

WITH_TARGETS = [name for name in ALL if name != "CrossQ"]
WITH_ACTOR = ("TD3", "DDPG", "DDPG_HER", "MADDPG")
"""Those whose target networks move together with the actor."""


def slow_and_online(agent):
    """The target networks, and those that they follow."""
    follows_both = hasattr(agent, "targets")
    return (agent.targets, agent.networks) if follows_both else (agent.target, agent.critic)


def is_copy(agent):
    """Whether the target networks are at this moment what those are that they follow."""
    slow, online = (list(module.parameters()) for module in slow_and_online(agent))
    return all(torch.equal(a, b) for a, b in zip(slow, online, strict=True))


@pytest.mark.parametrize("algo", WITH_TARGETS)
def test_targets_are_copied_at_each_target_update_th_update_also_after_a_restart(algo):
    """RES-1: those that move with the actor count its updates: with policy_freq 2, each sixth of the critics."""
    freq = 2 if algo in WITH_ACTOR else 1
    settings = {"target_update": 3, "tau": 1.0, "policy_freq": freq}
    agent, batch = agent_for(algo, **settings), batch_for(algo)
    copied = []
    for update in range(1, 12 * freq + 1):
        if update == 4 * freq + 1:
            state, agent = agent.state(), agent_for(algo, seed=2, **settings)
            agent.load_state(state)
        before = [p.clone() for p in slow_and_online(agent)[0].parameters()]
        agent.update(batch)
        stayed = all(torch.equal(a, b) for a, b in zip(slow_and_online(agent)[0].parameters(), before, strict=True))
        assert stayed != is_copy(agent), f"update {update}: neither left alone nor copied"
        copied += [update] if is_copy(agent) else []
    assert copied == [3 * freq, 6 * freq, 9 * freq, 12 * freq]


@pytest.mark.parametrize("algo", [name for name in WITH_TARGETS if name not in WITH_ACTOR])
def test_the_target_follows_the_critics_a_little_at_each_update(algo):
    agent, batch = agent_for(algo, tau=0.25), batch_for(algo)
    old = [p.clone() for p in agent.target.parameters()]
    agent.update(batch)
    new = [p.detach() for p in agent.critic.parameters()]
    for slow, before, now in zip(agent.target.parameters(), old, new, strict=True):
        torch.testing.assert_close(slow, 0.75 * before + 0.25 * now)


HAVE_TARGETS = [name for name in algos.available() if issubclass(algos.get(name).Config, TargetConfig)]
DENSE = [Linear(layer_size=[8]), Dropout(rate=0.5)]
OWN = layer_settings.Custom(module="own_networks:Trunk", options={"rate": 0.5})


def with_layers(algo, layers):
    """An agent of any algorithm that has targets, with these layers in all networks."""
    model = algos.get(algo).Config
    spec = spec_for(algo)
    if model.JOINT:
        spec = joint_spec(None if "Discrete" in model.ACTION_SPACES else Box(-1, 1, (2,)))
    elif "Discrete" in model.ACTION_SPACES:
        spec = replace(spec, action_space=Discrete(3))
    if "Box" not in model.OBSERVATION_SPACES:
        spec = replace(spec, observation_space=Discrete(4))
    settings = {name: layers for name in model.model_fields if name.endswith("_layers")}
    if "dueling" in model.model_fields and algo != "DuelingDQN":
        settings["dueling"] = False
    return agent_of(algo, spec, **settings)


def layers_that_learn(module):
    return [layer for layer in module.modules() if isinstance(layer, RandomZeros | Custom | CustomCell)]


@pytest.mark.parametrize("layers", [DENSE, [OWN]], ids=["dropout", "own"])
@pytest.mark.parametrize("algo", HAVE_TARGETS)
def test_the_networks_that_give_targets_have_dropout_whatever_the_algorithm(algo, layers):
    """Hiraoka et al. (2022) have it so, and TQC with dropout is not another rule than SAC with dropout."""
    agent = with_layers(algo, layers)
    networks = {name: value for name, value in vars(agent).items() if isinstance(value, nn.Module)}
    slow = {name: value for name, value in networks.items() if name.startswith("target")}
    assert slow
    with torch.no_grad():
        for name, network in networks.items():
            assert layers_that_learn(network) or name not in slow, name
            for layer in layers_that_learn(network):
                assert learns(layer) == (name in slow), name
                if isinstance(layer, Custom):
                    layer(torch.zeros(4, layer.module.body.in_features))
                    assert layer.module.training == (name in slow), name


@pytest.mark.parametrize("algo", ["SAC", "TQC", "TD3", "SAC_D", "REDQ"])
def test_targets_with_dropout_are_drawn(algo):
    batch, targets = batch_for(algo), []
    for seed in (1, 2, 2):
        agent = agent_for(algo, critic_layers=DENSE, **({"policy_noise": 0.0} if algo == "TD3" else {}))
        torch.manual_seed(seed)
        targets.append(target_of(agent, batch))
    assert torch.equal(targets[1], targets[2])
    assert not torch.equal(targets[0], targets[1])
    assert not targets[0].requires_grad
