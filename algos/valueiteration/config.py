"""Defaults of value iteration."""

from config.model.fields import Positive
from config.model.memory_spec import RolloutSpec
from config.model.schema import AlgoConfig


class Config(AlgoConfig):
    """Value iteration: plans with the known transition model of a finite environment, one sweep per step."""

    ACTION_SPACES = ("Discrete",)
    OBSERVATION_SPACES = ("Discrete",)
    NEEDS_MODEL = True

    gamma = 0.95
    """Discount factor."""
    theta: Positive = 1e-10
    """Convergence threshold: values stay once the largest change in a sweep is below it."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)
