"""Defaults of value iteration."""

from typing import ClassVar

from config.schema import AlgoConfig, Fraction, Positive, RolloutSpec


class Config(AlgoConfig):
    """Value iteration: plans with the rules of a finite environment, one sweep over all states after each step."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    OBSERVATION_SPACES: ClassVar = ("Discrete",)
    NEEDS_MODEL: ClassVar = True

    gamma: Fraction = 0.95
    """Discount of the reward one step later."""
    theta: Positive = 1e-10
    """Largest change of a value in a sweep below which nothing is changed any more."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)
