"""Several agents that are controlled as one, each of which acts on its own observation: one network that they share or
one of each, the input of central critics, and their policy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, UnfitError
from algos.common.fast.layers import Network
from algos.common.maths.distributions import draw_index
from algos.common.maths.exploration import masked
from algos.common.maths.gaussian import HALF_LOG_TAU, DiagGaussian
from algos.common.nets import networks
from algos.common.nets.observations import Normalizer
from algos.common.nets.recurrent import CELLS, OwnCells, Recurrent
from algos.common.parts.acting import Greedy, Policy, highest
from algos.common.parts.passes import Carried, outputs_of
from algos.common.settings import NetworkConfig
from config.model.layers import Layers

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


def merge(agents: int) -> nn.Module:
    """Returns a layer for outputs of single agents: [B S, A] -> [B, S, A]."""
    return nn.Unflatten(0, (-1, agents))


def actions_of_each(spec: EnvSpec) -> int:
    """Returns the number of actions of each agent, which must be equal."""
    space = spec.action_space
    sizes: list[int] = space.nvec.tolist() if isinstance(space, MultiDiscrete) else []
    if isinstance(space, Discrete):
        sizes = [int(space.n)]
    if len(sizes) != spec.agents or len(set(sizes)) > 1:
        raise UnfitError(
            "{space} is not a Discrete action for each of {count} agents, equal for all", space=space, count=spec.agents
        )
    return sizes[0]


class LogStds(nn.Module):
    """Means of all agents [B, S k] -> [B, 2 S k]: means, followed by log standard deviations that do not depend on the
    state, which each agent has of its own."""

    def __init__(self, agents: int, size: int, start: float) -> None:
        super().__init__()
        self.parts = nn.ParameterList(torch.full((size,), start) for _ in range(agents))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, torch.cat(list(self.parts)).expand(x.shape[0], -1)], 1)


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
        return networks.build(spec, layers, out, cfg, seed, normalizer=normalizer).extend([merge(1)])
    network = networks.build(_of_one(spec, agents), layers, out, cfg, seed)
    modules = [module for stage in _stages(network) for module in (stage if isinstance(stage, Network) else [stage])]
    before = [] if normalizer is None else [normalizer]  # of the joint observation: each agent has its own statistics
    return networks.assembled([*before, Split(agents), *modules, merge(agents)], agents)


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
    return networks.assembled([*before, SplitOwn(agents), *parts, merge(agents)], agents)


def _stages(network: Network | Recurrent) -> Sequence[nn.Module]:
    return list(network.stages) if isinstance(network, Recurrent) else [network]


class Normalizing(Protocol):
    """An agent, or a part of one, that has statistics of what its networks see."""

    normalizer: Any
    state_normalizer: Any
    device: torch.device


def central(agent: Normalizing, spec: EnvSpec) -> tuple[str, EnvSpec, Normalizer | None]:
    """Returns the column that a central critic or mixer reads, the spec whose observation it is, and its normalizer:
    the global state, or if there is none the observations of all agents."""
    if not spec.global_state:
        return "obs", spec, agent.normalizer
    if agent.normalizer is not None:
        agent.state_normalizer = Normalizer((spec.global_state,)).to(agent.device)
    return "global_state", of_state(spec), agent.state_normalizer


def observe_window(agent: Normalizing, window: Batch) -> None:
    """Updates the statistics of observations and of the global state with a window [T, N, ...]."""
    for column, normalizer in (("obs", agent.normalizer), ("global_state", agent.state_normalizer)):
        if normalizer is not None:
            normalizer.update(window[column], window.get("valid"))


def of_state(spec: EnvSpec) -> EnvSpec:
    """Returns the spec whose observation is the global state."""
    space = Box(-np.inf, np.inf, (spec.global_state,), np.float32)
    return replace(spec, observation_space=space, parts=(), agents=1)


class TeamPolicy(Policy):
    """A stochastic policy of S agents, which draw their actions independently: Discrete actions of A each, or Boxes of
    k numbers each. Outputs are logits [B, S, A], or [B, 2 S k]: means, followed by log deviations."""

    def __init__(
        self, cfg: Any, spec: EnvSpec, seed: int, normalizer: nn.Module | None, device: torch.device, shared: bool
    ) -> None:
        """shared: all agents share the weights of one network."""
        self.agents, self.shape = spec.agents, spec.action_space.shape or ()
        self.gaussian = DiagGaussian(spec.action_space) if isinstance(spec.action_space, Box) else None
        self.start = getattr(spec.action_space, "start", 0)
        self.size = actions_of_each(spec) if self.gaussian is None else self.gaussian.outputs // self.agents
        build = shared_by_agents if shared else own_of_agents
        network = build(spec, cfg.actor_layers, self.size, cfg, seed, normalizer)
        if self.gaussian is not None:
            network.extend([nn.Flatten(), LogStds(self.agents, self.size, cfg.log_std_init)])
        self.network = network.to(device)
        self.carried = Carried(self.network, device)

    # acting -----------------------------------------------------------------------------------------------

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns samples, with the columns `drawn`, before scaling and clipping to the space, and `log_prob` [N, S];
        for None the best actions."""
        outputs, after = self.carried.act(obs, state)
        outputs = masked(outputs, None if mask is None else mask.reshape(outputs.shape))
        if explore is None:
            return Act(self._best(outputs), state=after)
        drawn, log_prob = self.sample(outputs, explore.rng)
        action = drawn if self.gaussian is None else self.gaussian.to_env(drawn)
        return Act(action, {"drawn": drawn, "log_prob": log_prob}, after)

    def _best(self, outputs: Array) -> Array:
        if self.gaussian is not None:
            return self.gaussian.to_env(self.gaussian.mode(outputs))
        return outputs.argmax(2).reshape(-1, *self.shape) + self.start

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Returns actions [N, ...], and the log probability or density of each agent's [N, S]."""
        if self.gaussian is None:
            index, log_prob = draw_index(outputs.reshape(-1, self.size), rng)
            return index.reshape(-1, *self.shape) + self.start, log_prob.reshape(-1, self.agents)
        mean, log_std = np.split(outputs, 2, axis=1)
        noise = rng.standard_normal(mean.shape, dtype=np.float32)
        each = (0.5 * noise * noise + log_std).reshape(-1, self.agents, self.size).sum(2)
        return (mean + np.exp(log_std) * noise).reshape(-1, *self.shape), -each - self.size * HALF_LOG_TAU

    def as_module(self) -> PolicyModule:
        if self.gaussian is not None:
            return Greedy(self.network, self.gaussian.best)
        return Greedy(self.network, lambda values: highest(values).reshape(-1, *self.shape))

    # learning ---------------------------------------------------------------------------------------------

    def outputs(self, batch: Batch) -> Tensor:
        """Returns the outputs for a batch of M steps, illegal actions masked."""
        outputs, mask = outputs_of(self.network, batch["obs"]), batch.get("action_mask")
        return masked(outputs, None if mask is None else mask.view(outputs.shape))

    def index(self, drawn: Tensor) -> Tensor:
        """Returns Discrete actions [M, ...] as numbers from 0 [M, S]."""
        return (drawn - torch.as_tensor(self.start, device=drawn.device)).reshape(-1, self.agents)

    def log_probs(self, outputs: Tensor, drawn: Tensor) -> Tensor:
        """Returns the log probability or density of each agent's action [M, S]."""
        if self.gaussian is None:
            return F.log_softmax(outputs, 2).gather(2, self.index(drawn).unsqueeze(2)).squeeze(2)
        mean, log_std = outputs.chunk(2, 1)
        z = (drawn.flatten(1) - mean) * (-log_std).exp()
        each = (0.5 * z * z + log_std).view(-1, self.agents, self.size).sum(2)
        return -each - self.size * HALF_LOG_TAU

    def entropies(self, outputs: Tensor) -> Tensor:
        """Returns the entropy of each agent's policy [M, S]."""
        if self.gaussian is None:
            log_p = F.log_softmax(outputs, 2)
            return -(log_p.exp() * log_p).sum(2)
        log_std = outputs.chunk(2, 1)[1].view(-1, self.agents, self.size)
        return log_std.sum(2) + self.size * (0.5 + HALF_LOG_TAU)
