"""Defaults of Expected Sarsa."""

from typing import Any, ClassVar, Literal

from algos.qlearning.config import Config as QLearning


class Config(QLearning):
    """Expected Sarsa: a table of action values, updated with the mean over the actions as they are explored."""

    FIXED: ClassVar[dict[str, Any]] = {"next_value": "expected"}

    next_value: Literal["greedy", "expected", "taken"] = "expected"
