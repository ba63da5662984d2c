"""Defaults of Q-learning."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from config.schema import AlgoConfig, Fraction, Positive, Problem, RolloutSpec


class Config(AlgoConfig):
    """Q-learning: a table of action values, updated after every step."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    OBSERVATION_SPACES: ClassVar = ("Discrete", "MultiDiscrete", "MultiBinary")

    gamma: Fraction = 0.99
    """Discount of the reward one step later."""
    lr: Fraction = 0.1
    """Share of the error by which a value moves."""
    epsilon_start: Fraction = 0.95
    """Share of random actions at the start."""
    epsilon_end: Fraction = 0.01
    """Share of random actions that remains."""
    epsilon_decay: Positive = 300
    """Environment steps: of the exponential's time constant, or until epsilon_end with schedule linear."""
    epsilon_schedule: Literal["exponential", "linear"] = "exponential"
    """exponential: end + (start - end) exp(-step / decay); linear: a straight line."""
    initial_value: float = 0.0
    """Value of every action before anything is learned; high values make the agent curious."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)

    def problems(self) -> Iterator[Problem]:
        if self.epsilon_end > self.epsilon_start:
            yield Problem("epsilon_end", f"{self.epsilon_end} is more than epsilon_start, {self.epsilon_start}")
