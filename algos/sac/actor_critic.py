"""Base of SAC, TQC and CrossQ: a squashed Gaussian policy, critics, and the order of an update; and weights of constant
norm (normalize_weights)."""

import math
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from algos.base import Batch, EnvSpec, Result, Streams
from algos.common.nets import critics
from algos.common.nets.layers import BatchNorm, BatchRenorm, RmsNorm, batch_statistics, has_batch_norms, statistics_of
from algos.common.nets.recurrent import Observed
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.optim import Outcome
from algos.sac.choices import CHOICE_METRICS
from algos.sac.policy import SoftPolicy


class SoftActorCritic(PolicyAgent[SoftPolicy]):
    """A squashed Gaussian policy and critics. An algorithm defines the loss of its critics."""

    METRICS: ClassVar[tuple[str, ...]] = ("critic_loss", "q_mean", *SoftPolicy.METRICS)
    """Followed by those that a policy of Tuple or Dict actions has beside these."""

    def __init__(
        self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device, out: int = 1, beta1: float = 0.9
    ) -> None:
        """out: numbers that a critic gives for an action. beta1: of Adam."""
        super().__init__(cfg, spec, streams, device)
        self.out = out
        self.policy = SoftPolicy(cfg, spec, streams, device, self.normalizer, self._value, beta1)
        extra = () if self.policy.choices is None else CHOICE_METRICS
        self.METRICS = (*type(self).METRICS, *extra)  # type: ignore[misc]
        self.critic = self._critics(cfg.n_critics)
        self.policy.carried.add("critic", self.critic.front)
        self.parameters: list[Tensor] = list(self.critic.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.critic_lr, beta1=beta1)
        self.networks = nn.ModuleDict({**self.policy.modules, "critic": self.critic})
        self.step = self.minimize(self._loss, self.optimizer)
        self.joint = has_batch_norms(self.critic)
        """True if the critics see observations and their successors in one batch, so that both are normalized alike."""
        self.statistics = statistics_of(self.networks)
        if cfg.normalize_weights:
            self.step.after, self.policy.step.after = unit_weights(self.critic), unit_weights(self.policy.network)
        self.updates = 0

    def _critics(self, members: int) -> critics.Critic:
        actions, out = self.policy.bounds.size, self.out * self.policy.outcomes
        return critics.of_agent(self, 1, self.cfg.critic_layers, actions, out, members)

    def update(self, batch: Batch) -> Result:
        self.updates += 1
        rows = len(batch["action"])
        noise = self.policy.noise(rows)
        self._choose_targets()
        metrics, priorities = self.step(batch, noise, reduce=self.reduce)
        self._follow()
        if self.updates % self.cfg.policy_freq == 0:
            self._improve(batch["obs"], rows, batch.get("action_mask"))
        if self.learners > 1 and self.statistics:
            self.reduce(self.statistics)
        return Result({**metrics, **self.policy.metrics}, priorities)

    @abstractmethod
    def _loss(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Outcome]:
        """Returns the loss of the critics, and with prioritized replay the priorities [M]. noise: of the next
        actions."""

    @abstractmethod
    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        """Returns the value that the policy maximizes [B]; where some of an action is chosen, [B, K] of the choices."""

    def _choose_targets(self) -> None:
        """Draws the target critics of an update, if these are fewer than there are."""

    def _follow(self) -> None:
        """Updates the target critics, if there are any."""

    def _improve(self, obs: Observed, rows: int, mask: Tensor | None = None) -> None:
        """Makes one step of the policy, with batch statistics in it and running statistics in the critics. mask
        [M, entries]: of legal actions, where some of an action is chosen."""
        with batch_statistics(self.policy.network) if self.statistics else nullcontext():
            self.policy.improve(obs, self.policy.noise(rows), self.reduce, mask)


LEAST = 1e-8
"""Norm below which weights are not divided by it, and what is added to a square."""
NORMS = nn.LayerNorm, BatchNorm, BatchRenorm, RmsNorm, critics.EnsembleNorm


def unit_weights(network: nn.Module) -> Callable[[], None]:
    """Returns a function that divides the weights of each output of linear and convolutional layers by their Euclidean
    norm, and scales the weights and shifts of each normalization over D features to the norm sqrt(D) together. Other
    biases stay as they are. It is called once here."""
    rows: list[tuple[Tensor, tuple[int, ...]]] = []
    norms: list[list[Tensor]] = []
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            rows.append((layer.weight, tuple(range(1, layer.weight.ndim))))
        elif isinstance(layer, critics.EnsembleLinear):
            rows.append((layer.weight, (1,)))
        elif isinstance(layer, NORMS):
            norms.append([part for part in (layer.weight, getattr(layer, "bias", None)) if part is not None])

    @torch.no_grad()
    def normalize() -> None:
        for weight, inputs in rows:
            weight.div_(torch.linalg.vector_norm(weight, dim=inputs, keepdim=True).clamp_(min=LEAST))
        for parts in norms:
            square = torch.stack([part.square().sum(-1, keepdim=True) for part in parts]).sum(0)
            factor = math.sqrt(parts[0].shape[-1]) * (square + LEAST).rsqrt()
            for part in parts:
                part.mul_(factor)

    normalize()
    return normalize
