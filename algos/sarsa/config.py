"""Defaults of Sarsa."""

from typing import Any, ClassVar, Literal

from algos.qlearning.config import Config as QLearning


class Config(QLearning):
    """Sarsa: a table of action values, updated with the action taken next."""

    FIXED: ClassVar[dict[str, Any]] = {"next_value": "taken"}

    next_value: Literal["greedy", "expected", "taken"] = "taken"
