"""Policies of several agents that are controlled as one, each of which acts on its own observation."""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule
from algos.common.maths.distributions import draw_index
from algos.common.maths.exploration import masked
from algos.common.maths.gaussian import HALF_LOG_TAU, DiagGaussian
from algos.common.nets import joint
from algos.common.parts.acting import Greedy, Policy, highest
from algos.common.parts.sequences import Carried, outputs_of


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
        self.size = joint.actions_of_each(spec) if self.gaussian is None else self.gaussian.outputs // self.agents
        build = joint.shared_by_agents if shared else joint.own_of_agents
        network = build(spec, cfg.actor_layers, self.size, cfg, seed, normalizer)
        if self.gaussian is not None:
            network.extend([nn.Flatten(), joint.LogStds(self.agents, self.size, cfg.log_std_init)])
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
