"""GAIL: PPO that learns from the rewards of a discriminator, which learns beside it."""

from typing import Any, ClassVar

import torch

from algos.base import Batch, EnvSpec, Result, Streams
from algos.gail.discriminator import Discriminator
from algos.ppo.agent import Agent as Family


class Agent(Family):
    """PPO's networks, and a discriminator."""

    KEPT: ClassVar = (*Family.KEPT, "discriminator")

    def __init__(self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.discriminator = Discriminator(cfg, spec, self.policy, streams, self.normalizer, device)

    def metric_names(self) -> tuple[str, ...]:
        return (*super().metric_names(), *Discriminator.METRICS)

    def learning_networks(self) -> list[Any]:
        return [*super().learning_networks(), self.discriminator.networks]

    def columns(self, window: Batch) -> Batch:
        window = self.discriminator.prepare(window)
        return {**super().columns(window), **self.discriminator.columns(window)}

    def update(self, batch: Batch) -> Result:
        metrics = self.discriminator.update(batch, self.reduce)
        result = super().update(batch)
        return result._replace(metrics={**result.metrics, **metrics})
