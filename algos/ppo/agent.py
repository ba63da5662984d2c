"""PPO: policy gradient with a clipped surrogate or an adaptive KL penalty, and a value baseline."""

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor

from algos.base import Batch, EnvSpec, Progress, Result, Streams, Tree
from algos.common.parts.actor_critic import (
    OnPolicyAgent,
    PolicyLoss,
    clipped_surrogate,
    detached,
    seen,
    squared_error,
    standardized,
)
from algos.ppo.config import Config

SLOWEST, FASTEST = 0.01, 10.0
"""Bounds of the factor of the learning rates with lr_schedule: adaptive."""


def penalized_surrogate(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, kl: Tensor, penalty: float | Tensor
) -> PolicyLoss:
    """Returns -mean r A + penalty * mean KL(pi_old, pi) (equation 8); all tensors [B]. No ratio is clipped."""
    mean_kl = kl.mean()
    loss = penalty * mean_kl - ((log_prob - old_log_prob).exp() * advantage).mean()
    return PolicyLoss(loss, mean_kl.detach(), torch.zeros_like(mean_kl))


def adapted(penalty: float, kl: float, target: float, tolerance: float, factor: float) -> float:
    """Returns the penalty for the next window (section 4): divided by the factor if the KL divergence was below its
    target, multiplied by it if above."""
    if kl < target / tolerance:
        return penalty / factor
    return penalty * factor if kl > target * tolerance else penalty


def adapted_pace(pace: float, kl: float, desired: float) -> float:
    """Returns the factor of the learning rates for the next window: 1.5 times as large if the KL divergence was below
    half of the desired one, a third smaller if above twice."""
    return min(max(adapted(pace, kl, desired, tolerance=2.0, factor=2 / 3), SLOWEST), FASTEST)


def value_loss(value: Tensor, old_value: Tensor, target: Tensor, clip: float | None) -> Tensor:
    """Returns half the mean squared error; with a clip, the larger of the errors with and without clipping the
    value. All tensors are [B], or [B, heads], whose losses are summed."""
    if clip is None:
        return squared_error(value, target)
    near = old_value + (value - old_value).clamp(-clip, clip)
    return 0.5 * torch.max((value - target).square(), (near - target).square()).mean(0).sum()


class Agent(OnPolicyAgent):
    """A policy network and a value network, with one optimizer."""

    METRICS: ClassVar = ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipped", "explained_variance")
    KEPT: ClassVar[tuple[str, ...]] = (*OnPolicyAgent.KEPT, "penalty", "pace")
    REMADE: ClassVar = ("_penalty", "moved")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.penalty, self.pace = cfg.kl_lambda, 1.0
        """Weight of the KL penalty, and factor of the learning rates."""
        self._adapts_rates = cfg.lr_schedule == "adaptive"
        self._penalty = torch.full((), cfg.kl_lambda, device=device)
        """The penalty as a tensor: a compiled loss keeps the first value of a number."""
        self.moved: list[Tensor] = []
        """Mean KL divergence before each update of the window."""

    def rates(self, progress: Progress) -> Iterator[tuple[dict[str, Any], float]]:
        groups = {id(group) for group in self.optimizer.param_groups}  # a bonus and a discriminator have others
        _, pace = self._next()
        return ((group, rate * (pace if id(group) in groups else 1.0)) for group, rate in super().rates(progress))

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg = self.cfg
        self._adapt(*self._next())
        if self.normalizer is not None:
            self.policy.observe(window)
            window = self.policy.carried.recomputed(window, cfg.lookup_step)
        return self.columns(window)

    def columns(self, window: Batch) -> Batch:
        """Returns the columns that updates need of a window, whose observations have been counted. With V-trace the
        old policy is that of now: the advantages have the weight of the steps under it, and ratios to the policy that
        collected them would count that twice."""
        cfg, columns = self.cfg, seen(window)
        if self.normalizer is not None or cfg.ppo_type == "kl" or cfg.vtrace:
            outputs, columns["log_prob"] = self.policy.before(columns)
            if cfg.ppo_type == "kl":
                columns["old"] = outputs
        return {**columns, **self.advantages(window, cfg.vtrace)}

    def _next(self) -> tuple[float, float]:
        """Returns the penalty and the pace after the updates so far, by the mean KL divergence of the last epoch."""
        cfg = self.cfg
        if not self.moved:
            return self.penalty, self.pace
        kl = torch.stack(self.moved[-(len(self.moved) // cfg.k_epochs) :]).mean().item()
        penalty = adapted(self.penalty, kl, cfg.kl_target, cfg.kl_beta, cfg.kl_alpha)
        return penalty, adapted_pace(self.pace, kl, cfg.desired_kl) if self._adapts_rates else 1.0

    def _adapt(self, penalty: float, pace: float) -> None:
        self.penalty, self.pace, self.moved = penalty, pace, []
        self._penalty.fill_(penalty)

    def standardize(self, batch: Batch) -> Batch:
        return standardized(batch) if self.cfg.normalize_advantage else batch

    def update(self, batch: Batch) -> Result:
        result = super().update(batch)
        kl = result.metrics["kl"]
        if self.cfg.ppo_type == "kl" or self._adapts_rates:
            self.moved.append(self.everywhere(kl))
        return result._replace(stop=self._moved_too_far(kl))

    def _moved_too_far(self, kl: Tensor) -> bool:
        """Returns True if the clipped objective makes no further update of this window."""
        cfg = self.cfg
        if cfg.target_kl is None or cfg.ppo_type == "kl":
            return False
        return self.everywhere(kl).item() > 1.5 * cfg.target_kl

    def _loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        cfg = self.cfg
        outputs, values = self.policy.outputs_and_value(batch)
        entropy = self.policy.distribution.entropy(outputs).mean()
        policy = self._policy_loss(outputs, batch)
        value = value_loss(values, batch["value"], batch["target"], cfg.value_clip)
        loss = policy.loss + cfg.value_coef * value - self.now.entropy_coef * entropy
        return loss, detached(self.METRICS, loss, policy.loss, value, entropy, policy.kl, policy.clipped)

    def _policy_loss(self, outputs: Tensor, batch: Batch) -> PolicyLoss:
        cfg, distribution = self.cfg, self.policy.distribution
        log_prob = distribution.log_prob(outputs, batch["drawn"])
        advantage = batch["advantage"]
        if cfg.ppo_type == "clip":
            return clipped_surrogate(log_prob, batch["log_prob"], advantage, self.now.eps_clip)
        kl = distribution.kl(batch["old"], outputs)
        return penalized_surrogate(log_prob, batch["log_prob"], advantage, kl, self._penalty)

    # checkpoints ------------------------------------------------------------------------------------------

    def state(self) -> Tree:
        return {**super().state(), **dict(zip(("penalty", "pace"), self._next(), strict=True))}

    def load_state(self, state: Tree) -> None:
        super().load_state({"pace": 1.0, **state})  # older checkpoints have none
        self._adapt(self.penalty, self.pace if self._adapts_rates else 1.0)
