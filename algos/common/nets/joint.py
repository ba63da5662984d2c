"""Networks of a policy that controls S agents as one: one that they share or one of each, and the input of central
critics."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from torch import Tensor, nn

from algos.base import EnvSpec, UnfitError
from algos.common.fast.layers import Network
from algos.common.nets import networks
from algos.common.nets.recurrent import CELLS, OwnCells, Recurrent
from algos.common.settings import NetworkConfig
from config.model.layers import Layers
from config.tell.language import tr

AGENT_SEEDS = 1000
"""Distance of the seeds of the agents' own networks."""


class Split(nn.Module):
    """Joint observations [B, S d] -> [B S, d + S]: the observation of each agent, followed by its one-hot index."""

    index: Tensor

    def __init__(self, agents: int) -> None:
        super().__init__()
        self.register_buffer("index", torch.eye(agents), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        observations = x.unflatten(1, (len(self.index), -1))
        index = self.index.expand(x.shape[0], -1, -1)
        return torch.cat([observations, index], 2).flatten(0, 1)


class SplitOwn(nn.Module):
    """Joint observations [B, S d] -> [B S, d]: the observation of each agent."""

    def __init__(self, agents: int) -> None:
        super().__init__()
        self.agents = agents

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(1, (self.agents, -1)).flatten(0, 1)


class OwnParts(nn.Module):
    """A part of a network, of its own for each of S agents: [B S, ...] -> [B S, ...]."""

    def __init__(self, parts: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        inputs = x.unflatten(0, (-1, len(self.parts))).unbind(1)
        return torch.stack([part(rows) for part, rows in zip(self.parts, inputs, strict=True)], 1).flatten(0, 1)


class Merge(nn.Module):
    """Outputs of single agents [B S, A] -> [B, S, A]."""

    def __init__(self, agents: int) -> None:
        super().__init__()
        self.agents = agents

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(0, (-1, self.agents))


def actions_of_each(spec: EnvSpec) -> int:
    """Returns the number of actions of each agent, which must be equal."""
    space = spec.action_space
    sizes: list[int] = space.nvec.tolist() if isinstance(space, MultiDiscrete) else []
    if isinstance(space, Discrete):
        sizes = [int(space.n)]
    if len(sizes) != spec.agents or len(set(sizes)) > 1:
        raise UnfitError(
            tr(
                "{space} is not a Discrete action for each of {count} agents, equal for all",
                space=space,
                count=spec.agents,
            )
        )
    return sizes[0]


class LogStds(nn.Module):
    """Means of all agents [B, S k] -> [B, 2 S k]: means, followed by log standard deviations that do not depend on the
    state, which each agent has of its own."""

    def __init__(self, agents: int, size: int, start: float) -> None:
        super().__init__()
        self.parts = nn.ParameterList(torch.full((size,), start) for _ in range(agents))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, torch.cat(list(self.parts)).expand(len(x), -1)], 1)


def own_parameters(network: nn.Module, agents: int) -> list[list[nn.Parameter]]:
    """Returns the parameters of each agent in a network of `own_of_agents` and LogStds."""
    own: list[list[nn.Parameter]] = [[] for _ in range(agents)]
    for module in network.modules():
        parts = getattr(module, "cells" if isinstance(module, OwnCells) else "parts", None)
        if not isinstance(module, OwnCells | OwnParts | LogStds) or parts is None:
            continue
        for agent, part in zip(own, parts, strict=True):
            agent.extend([part] if isinstance(part, nn.Parameter) else part.parameters())
    return own


def _of_one(spec: EnvSpec, index: int) -> EnvSpec:
    """Returns the spec of a single agent, whose observation is followed by its one-hot index. index: length of
    that, 0 for none."""
    space = spec.observation_space
    assert isinstance(space, Box)
    width = space.shape[0] // spec.agents
    low, high = (
        np.append(bound[:width], np.full(index, edge)).astype(np.float32)
        for bound, edge in ((space.low, 0), (space.high, 1))
    )
    return replace(spec, observation_space=Box(low, high), parts=(), agents=1)


def shared_by_agents(
    spec: EnvSpec, layers: Layers, out: int, cfg: NetworkConfig, seed: int, normalizer: nn.Module | None = None
) -> Network | Recurrent:
    """Returns a network from joint observations [B, S d] to outputs [B, S, out], each of them from the observation and
    the index of one agent alone. With recurrent layers its state [B, S size] is that of all agents."""
    agents = spec.agents
    if agents == 1:
        return networks.build(spec, layers, out, cfg, seed, normalizer=normalizer).extend([Merge(1)])
    network = networks.build(_of_one(spec, agents), layers, out, cfg, seed)
    modules = [module for stage in _stages(network) for module in (stage if isinstance(stage, Network) else [stage])]
    before = [] if normalizer is None else [normalizer]  # of the joint observation: each agent has its own statistics
    return networks.assembled([*before, Split(agents), *modules, Merge(agents)], agents)


def own_of_agents(
    spec: EnvSpec, layers: Layers, out: int, cfg: NetworkConfig, seed: int, normalizer: nn.Module | None = None
) -> Network | Recurrent:
    """Returns the same with weights of its own for each agent, which need no index. Shared layers serve all."""
    agents = spec.agents
    if agents == 1:
        return shared_by_agents(spec, layers, out, cfg, seed, normalizer)
    single = _of_one(spec, 0)
    single_networks = [networks.build(single, layers, out, cfg, seed + AGENT_SEEDS * agent) for agent in range(agents)]
    parts = [
        OwnCells(part) if isinstance(part[0], CELLS) else OwnParts(part)
        for part in zip(*map(_stages, single_networks), strict=True)
    ]
    before = [] if normalizer is None else [normalizer]
    return networks.assembled([*before, SplitOwn(agents), *parts, Merge(agents)], agents)


def _stages(network: Network | Recurrent) -> Sequence[nn.Module]:
    return list(network.stages) if isinstance(network, Recurrent) else [network]


def central(spec: EnvSpec, normalizer: nn.Module | None) -> tuple[str, EnvSpec, nn.Module | None]:
    """Returns the column that a central critic or mixer reads, the spec whose observation it is, and its normalizer:
    the global state, or if there is none the observations of all agents."""
    if not spec.global_state:
        return "obs", spec, normalizer
    return "global_state", of_state(spec), None


def of_state(spec: EnvSpec) -> EnvSpec:
    """Returns the spec whose observation is the global state."""
    space = Box(-np.inf, np.inf, (spec.global_state,), np.float32)
    return replace(spec, observation_space=space, parts=(), agents=1)
