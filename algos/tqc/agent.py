"""TQC: SAC with quantile critics, whose pooled largest quantiles are truncated in the target."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from algos.base import Batch, EnvSpec, Streams
from algos.common.maths import targets
from algos.common.nets.recurrent import Observed
from algos.common.parts.optim import Outcome
from algos.sac.actor_critic import SoftActorCritic
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


class Agent(SoftActorCritic):
    """A squashed Gaussian policy, quantile critics, and target critics."""

    KEPT: ClassVar = ("networks", "target", "optimizer", "policy", "updates")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device, out=cfg.n_quantiles)
        self.target = targets.frozen_copy(self.critic)
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        self.levels = (torch.arange(cfg.n_quantiles, device=device) + 0.5) / cfg.n_quantiles

    def _follow(self) -> None:
        targets.follow(self.target_parameters, self.parameters, self.cfg, self.updates)

    def _loss(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Outcome]:
        target, weight = self._target(batch, noise), batch.get("weight")
        quantiles = self.critic(batch["obs"], self.policy.bounds.to_unit(batch["action"]))
        loss = quantile_loss(quantiles, target, self.levels, weight)
        q = quantiles.detach().mean(2)
        priorities = None if weight is None else targets.priorities(q, target.mean(1))
        return loss, Outcome({"critic_loss": loss.detach(), "q_mean": q.mean()}, priorities)

    @torch.no_grad()
    def _target(self, batch: Batch, noise: Tensor) -> Tensor:
        next_action, next_log_prob = self.policy.draw(batch["next_obs"], noise)
        quantiles = truncated(self.target(batch["next_obs"], next_action), self.cfg.drop_quantiles)
        reward, alpha = batch["reward"] * self.cfg.reward_scale, self.policy.temperature.alpha()
        return quantile_target(reward, batch["discount"], quantiles, next_log_prob, alpha)

    def _value(self, obs: Observed, action: Tensor) -> Tensor:
        """Returns the mean of all quantiles [B]."""
        return self.critic(obs, action).mean((0, 2))
