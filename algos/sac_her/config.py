"""SAC with hindsight: goals that were reached later in the place of those that were wanted."""

from algos.sac.config import Config as SAC
from config.schema import Fraction


class Config(SAC):
    """SAC_HER: SAC for observations that name a goal."""

    her_ratio: Fraction = 0.8
