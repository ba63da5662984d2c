"""An agent that acts at random and learns nothing; each update takes a known time."""

import time
from typing import ClassVar

import numpy as np
import torch

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Progress, Result, Streams
from benchmarks.slow_learning.config import BATCH, Config


class Agent(base.Agent):
    """A random policy whose updates only wait."""

    METRICS: ClassVar = ("loss",)
    KEPT: ClassVar = ("network",)

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.network = torch.nn.Linear(1, 1)
        torch.nn.init.zeros_(self.network.weight)
        torch.nn.init.zeros_(self.network.bias)

    def sample_action(
        self, obs: Array, state: Array | None, progress: Progress, rng: np.random.Generator, mask: Array | None = None
    ) -> Act:
        return Act(rng.integers(0, 2, len(obs)))

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(np.zeros(len(obs), np.int64))

    def update(self, batch: Batch) -> Result:
        time.sleep(self.cfg.seconds * len(batch["reward"]) / BATCH)
        return Result({"loss": torch.zeros(())})
