"""Value iteration: repeated Bellman optimality backups of all states."""

from typing import ClassVar

import numpy as np
import torch

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Result, Streams, Tree
from algos.common.maths.exploration import greedy
from algos.common.maths.planning import backup, rules_of
from algos.valueiteration.config import Config


class Agent(base.Agent):
    """Action values [S, A], and the transition model of the environment."""

    METRICS: ClassVar = ("delta", "value_mean")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.model = rules_of(spec, "ValueIteration")
        self.table = np.zeros(self.model.probability.shape[:2])

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(greedy(self.table[obs], mask))

    def update(self, batch: Batch) -> Result:
        """Makes one sweep. The collected batch is not used."""
        table = backup(self.model, self.table.max(axis=1), self.cfg.gamma)
        delta = np.abs(table - self.table).max()
        if delta >= self.cfg.theta:
            self.table = table
        return Result({"delta": torch.tensor(delta), "value_mean": torch.tensor(self.table.max(axis=1).mean())})

    def weights(self) -> dict[str, Array]:
        return {"table": self.table.copy()}

    def load_weights(self, weights: dict[str, Array]) -> None:
        self.table = np.array(weights["table"], np.float64).reshape(self.table.shape)

    def state(self) -> Tree:
        return self.weights()

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
