"""Defaults of Q-learning, and of what differs from it in the value of the next state."""

from typing import Literal

from algos.common.settings import TableConfig
from config.schema import PositiveFraction, RolloutSpec


class Config(TableConfig):
    """Q-learning: a table of action values, updated after every step."""

    lr: PositiveFraction = 0.1
    """Share of the error by which a value moves."""
    next_value: Literal["greedy", "expected", "taken"] = "greedy"
    """Value of the next state: that of its best action (Q-learning), the mean over the actions as they are explored
    (ExpectedSarsa), or that of the action which is really taken there (Sarsa)."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1, overlap=1 if self.next_value == "taken" else 0)
