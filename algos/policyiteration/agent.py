"""Policy iteration: alternates policy evaluation and policy improvement until the policy is stable."""

from typing import ClassVar

import numpy as np
import torch

from algos import base
from algos.base import Act, Array, Batch, EnvSpec, Result, Streams, Tree
from algos.common.maths.exploration import greedy
from algos.common.maths.planning import backup, evaluate, improve, rules_of
from algos.policyiteration.config import Config


class Agent(base.Agent):
    """One action for every state, and the transition model of the environment."""

    METRICS: ClassVar = ("changed", "value_mean")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.model = rules_of(spec, "PolicyIteration")
        self.table = np.zeros(self.model.probability.shape[:2])
        """Action values of the previous policy; they choose where the policy's action is illegal."""
        self.policy = np.zeros(len(self.table), np.int64)

    def predict_action(self, obs: Array, state: Array | None, mask: Array | None = None) -> Act:
        action = self.policy[obs]
        if mask is None:
            return Act(action)
        legal = np.take_along_axis(mask, action[:, None], 1)[:, 0]
        return Act(np.where(legal, action, greedy(self.table[obs], mask)))

    def update(self, batch: Batch) -> Result:
        """Makes one evaluation and one improvement. The collected batch is not used."""
        value = evaluate(self.model, self.policy, self.cfg.gamma)
        self.table = backup(self.model, value, self.cfg.gamma)
        policy = improve(self.policy, self.table)
        changed, self.policy = (policy != self.policy).sum(), policy
        return Result({"changed": torch.tensor(float(changed)), "value_mean": torch.tensor(value.mean())})

    def weights(self) -> dict[str, Array]:
        return {"policy": self.policy.copy(), "table": self.table.copy()}

    def load_weights(self, weights: dict[str, Array]) -> None:
        self.policy = np.array(weights["policy"], np.int64).reshape(self.policy.shape)
        self.table = np.array(weights["table"], np.float64).reshape(self.table.shape)

    def state(self) -> Tree:
        return self.weights()

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
