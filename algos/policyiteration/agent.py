"""Policy iteration: alternates policy evaluation and policy improvement until the policy is stable."""

from typing import ClassVar

import numpy as np
import torch

from algos.base import Act, Array, Batch, EnvSpec, Model, Result, Streams
from algos.common.maths.exploration import greedy
from algos.common.parts.tables import Planner, backup
from algos.policyiteration.config import Config


def evaluate(model: Model, policy: Array, gamma: float) -> Array:
    """Returns the values v [S] of a deterministic policy: the solution of v = r + gamma P v."""
    states = np.arange(len(policy))
    chosen = Model(*(rule[states, policy] for rule in model))
    system = np.eye(len(policy))
    later = gamma * chosen.probability * ~chosen.terminated
    np.subtract.at(system, (states[:, None], chosen.next_state), later)
    return np.linalg.solve(system, (chosen.probability * chosen.reward).sum(axis=1))


def improve(policy: Array, q: Array) -> Array:
    """Returns the best action of every state [S] by values [S, A]; the old one if it is as good, so that policy
    iteration cannot cycle between equally good policies."""
    old, best = q[np.arange(len(policy)), policy], q.max(axis=1)
    return np.where(np.isclose(old, best, rtol=1e-9, atol=1e-12), policy, q.argmax(axis=1))


class Agent(Planner):
    """One action for every state, and the transition model of the environment. The table is of the previous policy; it
    chooses where the policy's action is illegal."""

    NAME: ClassVar = "PolicyIteration"
    METRICS: ClassVar = ("changed", "value_mean")
    ARRAYS: ClassVar = ("policy", "table")

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
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
