"""A2C: policy gradient with a value baseline."""

from typing import ClassVar

import torch

from algos.base import Batch, Progress
from algos.common.parts.actor_critic import OnPolicyAgent, advantages, seen, standardized


class Agent(OnPolicyAgent):
    """A policy network and a value network, with one optimizer."""

    COMPILES: ClassVar = True

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        cfg = self.cfg
        if self.normalizer is not None:
            self.policy.observe(window)
        columns = advantages(self.policy, window, self.scaler, cfg.gamma, cfg.gae_lambda, cfg.vtrace)
        return {**seen(window), **columns}

    def standardize(self, batch: Batch) -> Batch:
        return standardized(batch) if self.cfg.normalize_advantage else batch
