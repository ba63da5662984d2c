"""SAC with hindsight experience replay."""

from typing import ClassVar

from algos.sac.config import Config as SAC
from config.model.fields import Fraction
from config.model.schema import Needed


class Config(SAC):
    """SAC_HER: SAC with hindsight experience replay, for goal-conditioned environments."""

    FIXED: ClassVar = {"her_ratio": Needed(lambda cfg: cfg.her_ratio > 0, "0 disables hindsight: this is SAC then")}

    her_ratio: Fraction = 0.8
