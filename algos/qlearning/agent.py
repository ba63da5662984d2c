"""Tabular temporal difference learning: Q-learning, Sarsa and Expected Sarsa."""

import numpy as np
import torch

from algos.base import Array, Batch, Progress, Result
from algos.common.parts.tables import TableAgent, best_value, td_error


def taken_value(values: Array, policy: Array, next_action: Array, truncated: Array) -> Array:
    """Returns Q(s', a') [N] of values [N, A]. After a truncation the next action belongs to another episode; the
    expectation under the policy [N, A] replaces it, which is the value of s' under the policy that acts."""
    taken = np.take_along_axis(values, next_action[:, None], 1)[:, 0]
    return np.where(truncated, expected_value(values, policy), taken)


def expected_value(values: Array, policy: Array) -> Array:
    """Returns sum_a pi(a|s') Q(s', a) [N] of values and policy [N, A]."""
    return (policy * values).sum(axis=1)


class Agent(TableAgent):
    """A table of action values; Q-learning, Expected Sarsa and Sarsa differ in the value of the next state."""

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Adds the value of the next state [1, N]. Sarsa's window has one step more, for the action taken there."""
        next_value = self._next_value({name: column.numpy() for name, column in window.items()}, progress)
        names = ("obs", "action", "reward", "terminated", "valid")
        needed: Batch = {name: window[name][:1] for name in names if name in window}
        return {**needed, "next_value": torch.from_numpy(next_value).unsqueeze(0)}

    def _next_value(self, window: dict[str, Array], progress: Progress) -> Array:
        """Returns the value [N] of the first step's successor under the present table."""
        state = self.table.index(window["next_obs"][0])
        mask = window["next_action_mask"][0] if "next_action_mask" in window else None
        values = self.table.values[state]
        if self.cfg.next_value == "greedy":
            return best_value(values, mask)
        policy = self.table.policy(state, progress, mask)
        if self.cfg.next_value == "expected":
            return expected_value(values, policy)
        return taken_value(values, policy, window["action"][1], window["truncated"][0])

    def update(self, batch: Batch) -> Result:
        steps = {name: value.numpy() for name, value in batch.items()}
        state, action = self.table.index(steps["obs"]), steps["action"]
        error = td_error(
            self.table.values, state, action,
            steps["reward"], steps["next_value"], steps["terminated"], self.cfg.gamma,
        )  # fmt: skip
        self.table.visited(state, action)
        return self.table.learn(state, action, error, self.now.lr)
