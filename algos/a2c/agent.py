"""A2C: policy gradient with a value baseline."""

from typing import ClassVar

import torch

from algos.base import Batch, Progress
from algos.common.parts.actor_critic import OnPolicyAgent, seen, standardized


class Agent(OnPolicyAgent):
    """A policy network and a value network, with one optimizer."""

    COMPILES: ClassVar = True

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        if self.normalizer is not None:
            self.policy.observe(window)
        return {**seen(window), **self.advantages(window, self.cfg.vtrace)}

    def standardize(self, batch: Batch) -> Batch:
        return standardized(batch) if self.cfg.normalize_advantage else batch
