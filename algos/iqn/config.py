"""Defaults of IQN: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.fields import Positive, PositiveInt


class Config(Family):
    """IQN: DQN that learns quantiles of the return at random fractions."""

    HEAD = "implicit"

    double = False
    loss = "mse"
    n_quantiles: PositiveInt = 32
    """Number of fractions drawn for each sample; evaluation and test use as many evenly spaced ones."""
    kappa: Positive = 1.0
    """Threshold of the Huber loss, above which the loss of a quantile's error is linear."""
