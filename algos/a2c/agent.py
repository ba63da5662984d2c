"""A2C: policy gradient with a value baseline."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algos import base
from algos.a2c.config import Config
from algos.base import Act, Array, Batch, EnvSpec, PolicyModule, Progress, Result, Streams
from algos.common.maths.normalize import RewardScaler, normalizer_for
from algos.common.nets import networks
from algos.common.parts.actor_critic import (
    ActorCritic,
    advantages,
    follow_schedule,
    make_optimizer,
    policy_loss,
    seen,
    squared_error,
    standardised,
)


class Agent(base.Agent):
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

    # acting -----------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array | None:
        return self.policy.initial_state(rows)

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return self.policy.sample(obs, state, mask, rng)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return self.policy.best(obs, state, mask)

    def as_module(self) -> PolicyModule:
        return self.policy.as_module()

    # learning ---------------------------------------------------------------------------------------------

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg = self.cfg
        follow_schedule(self.optimizer, cfg, progress.fraction)
        if self.normalizer is not None:
            self.policy.observe(window)
        found = advantages(self.policy, window, self.scaler, cfg.gamma, cfg.gae_lambda, cfg.vtrace)
        return {**seen(window), **found}

    def standardise(self, batch: Batch) -> Batch:
        return standardised(batch) if self.cfg.normalize_advantage else batch

    def update(self, batch: Batch) -> Result:
        networks.seed_dropout(self.networks, self.streams.learn)
        batch = self.policy.carried.with_views(batch)
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
