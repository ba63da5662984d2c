"""Defaults of value iteration."""

from typing import ClassVar

from config.model.fields import Fraction, Positive
from config.model.memory_spec import RolloutSpec
from config.model.schema import AlgoConfig


class Config(AlgoConfig):
    """Value iteration: plans with the known transition model of a finite environment, one sweep per step."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    OBSERVATION_SPACES: ClassVar = ("Discrete",)
    NEEDS_MODEL: ClassVar = True

    gamma: Fraction = 0.95
    """Discount factor."""
    theta: Positive = 1e-10
    """Convergence threshold: values stay once the largest change in a sweep is below it."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)
