"""REDQ: SAC with ten critics and twenty updates per step."""

from typing import Literal

from algos.sac.config import Config as SAC
from config.schema import PositiveInt


class Config(SAC):
    """REDQ: many critics, of which two, drawn at random, make each target, so that more can be learned from each
    step."""

    n_critics: PositiveInt = 10
    actor_value: Literal["min", "mean"] = "mean"
    updates_per_train: PositiveInt = 20
    policy_freq: PositiveInt = 20
