"""Defaults of DiscreteCQL: DQN's, except for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family
from config.model.fields import Fraction, NonNegative, PositiveFraction, PositiveInt


class Config(Family):
    """DiscreteCQL: DQN on given data, with values that are low for actions that the data do not choose."""

    OFFLINE: ClassVar = True

    cql_alpha: NonNegative = 1.0
    double: bool = True
    gamma: Fraction = 0.99
    batch_size: PositiveInt = 128
    target_update: PositiveInt = 1
    tau: PositiveFraction = 0.005
