"""TQC: SAC with quantile critics, whose pooled largest quantiles are truncated in the target."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Batch, EnvSpec, Result, Streams
from algos.common.maths import targets
from algos.common.maths.normalize import normalizer_for
from algos.common.nets import critics
from algos.common.parts import optim
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.soft_policy import SoftPolicy
from algos.common.parts.unroll import Observed
from algos.tqc.config import Config


def truncated(quantiles: Tensor, drop: int) -> Tensor:
    """Pools and sorts the quantiles of all critics [n, B, M] and drops the n * drop largest: [B, n (M - drop)]."""
    pooled = quantiles.transpose(0, 1).flatten(1).sort(1).values
    return pooled[:, : pooled.shape[1] - len(quantiles) * drop]


def quantile_target(
    reward: Tensor, discount: Tensor, quantiles: Tensor, next_log_prob: Tensor, alpha: Tensor
) -> Tensor:
    """Returns the targets r + discount (z_k - alpha log pi(a'|s')) for each quantile [B, K] (algorithm 1).
    discount [B] is gamma^k, and 0 if s' is terminal."""
    value = quantiles - (alpha * next_log_prob).unsqueeze(1)
    return torch.addcmul(reward.unsqueeze(1), discount.unsqueeze(1), value)


def quantile_loss(quantiles: Tensor, target: Tensor, levels: Tensor, weight: Tensor | None) -> Tensor:
    """Returns mean |tau_m - 1{y_k < z_m}| Huber(y_k - z_m) over all pairs of quantiles z [n, B, M] and targets y [B, K]
    (equation 10 of Dabney et al., 2018); levels [M] are the tau_m, weight [B] are importance
    sampling weights."""
    z, y = torch.broadcast_tensors(quantiles.unsqueeze(2), target.unsqueeze(2))
    share = torch.where(y < z, 1.0 - levels, levels)
    if weight is not None:
        share = share * weight.view(-1, 1, 1)
    # a scalar product has no need of a tensor of all pairs, of which there are half a million
    return torch.dot(share.flatten(), F.smooth_l1_loss(z, y, reduction="none").flatten()) / share.numel()


class Agent(PolicyAgent[SoftPolicy]):
    """A squashed Gaussian policy, quantile critics, and target critics."""

    METRICS: ClassVar = ("critic_loss", "q_mean", *SoftPolicy.METRICS)
    KEPT: ClassVar = ("networks", "target", "optimizer", "policy", "updates")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.policy = SoftPolicy(cfg, spec, streams, device, self.normalizer, self._value)
        self.critic = critics.build(
            spec, cfg.critic_layers, cfg, streams.init + 1, members=cfg.n_critics, actions=self.policy.bounds.size,
            out=cfg.n_quantiles, normalizer=self.normalizer,
        ).to(device)  # fmt: skip
        self.policy.carried.add("critic", self.critic.front)
        self.target = targets.frozen_copy(self.critic)
        self.levels = (torch.arange(cfg.n_quantiles, device=device) + 0.5) / cfg.n_quantiles
        self.parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.optimizer = optim.make(self.parameters, cfg, cfg.critic_lr)
        parts = {"actor": self.policy.network, "temperature": self.policy.temperature, "critic": self.critic}
        self.networks = nn.ModuleDict(parts)
        self.updates = 0

    def update(self, batch: Batch) -> Result:
        cfg = self.cfg
        self.updates += 1
        obs, weight = batch["obs"], batch.get("weight")
        target = self._target(batch)
        quantiles = self.critic(obs, self.policy.bounds.to_unit(batch["action"]))
        loss = quantile_loss(quantiles, target, self.levels, weight)
        optim.descend(loss, batch, self.optimizer, self.parameters, cfg.max_grad_norm, self.reduce)
        targets.follow(self.target_parameters, self.parameters, cfg, self.updates)
        if self.updates % cfg.policy_freq == 0:
            self.policy.improve(obs, self.policy.noise(len(target)), self.reduce)
        q = quantiles.detach().mean(2)
        priorities = None if weight is None else critics.priorities(q, target.mean(1))
        return Result({"critic_loss": loss.detach(), "q_mean": q.mean(), **self.policy.metrics}, priorities)

    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        """Returns the value that the actor maximizes [B]: the mean of all quantiles."""
        return self.critic(obs, action).mean((0, 2))

    @torch.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        next_action, next_log_prob = self.policy.draw(batch["next_obs"], self.policy.noise(len(batch["reward"])))
        kept = truncated(self.target(batch["next_obs"], next_action), self.cfg.drop_quantiles)
        reward, alpha = batch["reward"] * self.cfg.reward_scale, self.policy.temperature.alpha()
        return quantile_target(reward, batch["discount"], kept, next_log_prob, alpha)
