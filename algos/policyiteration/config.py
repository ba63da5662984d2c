"""Defaults of policy iteration."""

from collections.abc import Iterator
from typing import ClassVar

from config.schema import AlgoConfig, Fraction, Problem, RolloutSpec


class Config(AlgoConfig):
    """Policy iteration: plans with the rules of a finite environment, one better policy after each step."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    OBSERVATION_SPACES: ClassVar = ("Discrete",)
    NEEDS_MODEL: ClassVar = True

    gamma: Fraction = 0.95
    """Discount of the reward one step later; below 1."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)

    def problems(self) -> Iterator[Problem]:
        if self.gamma == 1.0:
            reason = "a policy that never ends has no value with it, and most first policies never end"
            yield Problem("gamma", f"1 is too much: {reason}; take 0.9999, or ValueIteration")
