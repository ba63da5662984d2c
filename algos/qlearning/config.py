"""Defaults of Q-learning and of its variants, which differ in the value of the next state."""

from typing import Literal

from algos.common.settings import TableConfig
from config.model.memory_spec import RolloutSpec
from config.model.schedules import TableRate


class Config(TableConfig):
    """Q-learning: a table of action values, updated after every step."""

    lr: TableRate = 0.5
    """Learning rate: share of the TD error by which a value changes."""
    next_value: Literal["greedy", "expected", "taken"] = "greedy"
    """Value of the next state: of its best action (greedy, Q-learning), the expectation under the exploring policy
    (expected, ExpectedSarsa), or of the action taken next (taken, Sarsa)."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1, overlap=1 if self.next_value == "taken" else 0)
