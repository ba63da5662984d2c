"""A2C: policy gradient with a value baseline."""

from typing import ClassVar

import torch
from torch import Tensor

from algos.a2c.config import Config
from algos.base import Batch, EnvSpec, Progress, Result, Streams
from algos.common.maths.normalize import RewardScaler, normalizer_for
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.actor_critic import (
    ActorCritic,
    advantages,
    make_optimizer,
    policy_loss,
    seen,
    squared_error,
    standardised,
)


class Agent(PolicyAgent[ActorCritic]):
    """A policy network and a value network, with one optimizer."""

    METRICS: ClassVar = ("loss", "policy_loss", "value_loss", "entropy", "explained_variance")
    KEPT: ClassVar = ("networks", "optimizer", "scaler")
    COMPILES: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.normalizer = normalizer_for(spec.observation_space, device) if cfg.normalize_obs else None
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        self.policy = ActorCritic(cfg, spec, streams.init, self.normalizer, device)
        self.networks = self.policy.networks
        self.optimizer = make_optimizer(cfg, *self.networks.values())
        self.step = self.minimize(self._loss, self.optimizer)

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg = self.cfg
        if self.normalizer is not None:
            self.policy.observe(window)
        found = advantages(self.policy, window, self.scaler, cfg.gamma, cfg.gae_lambda, cfg.vtrace)
        return {**seen(window), **found}

    def standardise(self, batch: Batch) -> Batch:
        return standardised(batch) if self.cfg.normalize_advantage else batch

    def update(self, batch: Batch) -> Result:
        metrics = self.step(batch, reduce=self.reduce)
        return Result({**metrics, "explained_variance": self.policy.explained_variance})

    def _loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the loss of both networks, and the metrics."""
        cfg, distribution = self.cfg, self.policy.distribution
        outputs, values = self.policy.outputs(batch), self.policy.value(batch)
        policy = policy_loss(distribution.log_prob(outputs, batch["drawn"]), batch["advantage"])
        value = squared_error(values, batch["target"])
        entropy = distribution.entropy(outputs).mean()
        loss = policy + cfg.value_coef * value - cfg.entropy_coef * entropy
        metrics = (loss, policy, value, entropy)
        return loss, {name: m.detach() for name, m in zip(self.METRICS, metrics, strict=False)}
