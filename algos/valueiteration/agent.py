"""Value iteration: repeated Bellman optimality backups of all states."""

from typing import ClassVar

import numpy as np
import torch

from algos.base import Act, Array, Batch, Result
from algos.common.maths.exploration import greedy
from algos.common.parts.tables import Planner, backup


class Agent(Planner):
    """Action values [S, A], and the transition model of the environment."""

    NAME: ClassVar = "ValueIteration"
    METRICS: ClassVar = ("delta", "value_mean")

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        return Act(greedy(self.table[obs], mask))

    def update(self, batch: Batch) -> Result:
        """Makes one sweep. The collected batch is not used."""
        table = backup(self.model, self.table.max(axis=1), self.cfg.gamma)
        delta = np.abs(table - self.table).max()
        if delta >= self.cfg.theta:
            self.table = table
        return Result({"delta": torch.tensor(delta), "value_mean": torch.tensor(self.table.max(axis=1).mean())})
