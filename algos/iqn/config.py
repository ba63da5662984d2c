"""Defaults of IQN: those of DQN but for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family
from config.schema import Positive, PositiveInt


class Config(Family):
    """IQN: DQN that learns the return at fractions drawn at random."""

    HEAD: ClassVar = "implicit"

    n_quantiles: PositiveInt = 32
    """Fractions drawn for each sample; as many evenly spaced ones are used in evaluation and test."""
    kappa: Positive = 1.0
    """Error of a quantile from which the penalty grows linearly."""
