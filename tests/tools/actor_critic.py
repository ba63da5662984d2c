"""Small actor-critics and a batch for them."""

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

import algos
from algos.base import EnvSpec
from algos.common.settings import ActorCriticConfig
from algos.flashsac.config import inverted
from algos.sac.actor_critic import SoftActorCritic
from algos.td3 import agent as td3
from config.model.layers import BatchRenorm, Dropout, LayerNorm, Linear, mlp
from tests.tools.core import agent_of, ramp, replay

ALL = [name for name in algos.learning() if issubclass(algos.get(name).Config, ActorCriticConfig)]
SOFT = [name for name in ALL if "alpha" in algos.get(name).Config.model_fields]
CONTINUOUS = [name for name in ALL if name != "SAC_D"]

OBS = Box(-np.inf, np.inf, (3,))
ACTIONS = Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 10.0], np.float32))


def small(algo, *sizes):
    """The layers of an algorithm, with other sizes."""
    norm = BatchRenorm(warmup=10)
    if algo == "CrossQ":
        layers = [layer for size in sizes for layer in (norm, Linear(layer_size=[size]))]
        return {"actor_layers": [*layers, norm], "critic_layers": [*layers, norm]}
    if algo == "FlashSAC":  # with bins at whole numbers
        layers = inverted(*sizes, blocks=1)
        return {"actor_layers": layers, "critic_layers": layers, "critic_bins": 11}
    if algo == "DroQ":
        block = [Dropout(rate=0.1), LayerNorm(activation="relu")]
        layers = [layer for size in sizes for layer in (Linear(layer_size=[size], activation="none"), *block)]
        return {"actor_layers": mlp(*sizes), "critic_layers": layers}
    return {"actor_layers": mlp(*sizes), "critic_layers": mlp(*sizes)}


def spec_for(algo, observation=OBS, rows=1):
    return EnvSpec("x", observation, Discrete(3) if algo == "SAC_D" else ACTIONS, rows)


def agent_for(algo, seed=1, **settings):
    return agent_of(algo, spec_for(algo), seed, **{**small(algo, 8), **settings})


def batch_for(algo, size=16, seed=0, observation=OBS):
    """Transitions drawn by a formula; every second one is terminal."""
    rng = np.random.default_rng(seed)
    obs, next_obs = rng.standard_normal((2, size, *observation.shape)).astype(np.float32)
    if algo == "SAC_D":
        action = rng.integers(0, 3, size)
    else:
        action = rng.uniform(ACTIONS.low, ACTIONS.high, (size, 2)).astype(np.float32)
    reward = rng.standard_normal(size).astype(np.float32)
    discount = np.where(np.arange(size) % 2, 0.0, 0.9).astype(np.float32)
    columns = {"obs": obs, "action": action, "reward": reward, "next_obs": next_obs, "discount": discount}
    return {name: torch.from_numpy(column) for name, column in columns.items()}


def target_of(agent, batch):
    """What the values of a batch are pulled towards, [B, ...]."""
    rows = len(batch["reward"])
    if isinstance(agent, SoftActorCritic):
        agent._choose_targets()
        noise = agent.policy.noise(rows)
        target = agent._values(batch, noise)[1] if hasattr(agent, "_values") else agent._target(batch, noise)
        bins = getattr(agent, "bins", None)
        if bins is None:
            return target
        shares = target.double() / target.double().sum(1, keepdim=True)
        return (shares @ bins.support.double()).float()
    return agent._target(batch, agent._noise(rows)) if isinstance(agent, td3.Agent) else agent._target(batch)


def drawn_from_memory(algo, ends):
    """All steps of a ramp of five, as the memory of an algorithm hands them out."""
    memory = replay(capacity=5, batch=64, gamma=0.9)
    fragment = ramp(0, 5, 1, ends)
    columns = fragment.columns
    columns["obs"], columns["next_obs"] = (np.repeat(columns[name], 3, 2) / 10 for name in ("obs", "next_obs"))
    columns["action"] = columns["action"] if algo == "SAC_D" else np.zeros((5, 1, 2), np.float32)
    memory.add(fragment)
    chunk = memory.take(0.0)
    return {name: torch.from_numpy(column[0].copy()) for name, column in chunk.columns.items()}
