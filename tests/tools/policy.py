"""Quick settings, windows and agents for the tests of the policy gradients."""

import torch
from gymnasium.spaces import Box

from algos.base import EnvSpec, Progress
from config.model.layers import mlp
from tests.tools.core import agent_of, collector_of, memory_of, ramp, spec_of, toy_of

LAYERS = {"actor_layers": mlp(16, activation="tanh"), "critic_layers": mlp(16, activation="tanh")}
QUICK = {
    "A2C": {**LAYERS, "lr": 0.01, "batch_size": 64},
    "PPO": {**LAYERS, "lr": 0.01, "batch_size": 128, "sgd_batch_size": 64, "k_epochs": 4},
    "REINFORCE": {"actor_layers": LAYERS["actor_layers"], "lr": 0.02, "batch_episode": 64},
    "TRPO": {**LAYERS, "critic_lr": 0.01, "batch_size": 128, "max_kl": 0.05},
}
ROUNDS = {"A2C": 45, "PPO": 12, "REINFORCE": 150, "TRPO": 9}
"""Fragments; one of REINFORCE is a single step."""


def quick(algo, env, seed=1, **settings):
    return agent_of(algo, spec_of(env), seed, **{**QUICK[algo], **settings})


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
