"""REDQ: SAC with ten critics and twenty updates per step."""

from typing import Literal

from algos.sac.config import Config as SAC
from config.model.fields import PositiveInt


class Config(SAC):
    """REDQ: SAC with a large ensemble of critics, a random subset of which makes each target, and many updates per
    step."""

    n_critics: PositiveInt = 10
    actor_value: Literal["min", "mean"] = "mean"
    updates_per_train: PositiveInt = 20
    policy_freq: PositiveInt = 20
