"""Defaults of QRDQN: DQN's, except for these."""

from typing import Annotated

from pydantic import Field

from algos.dqn.config import Config as Family
from config.model.fields import Int, Positive


class Config(Family):
    """QRDQN: DQN that learns quantiles of the return."""

    HEAD = "quantile"

    double = False
    loss = "mse"
    n_quantiles: Annotated[Int, Field(ge=2)] = 50
    """Number of quantiles of the return that are learned for each action."""
    kappa: Positive = 1.0
    """Threshold of the Huber loss, above which the loss of a quantile's error is linear."""
