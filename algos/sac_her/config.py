"""SAC with hindsight experience replay."""

from algos.sac.config import Config as SAC
from config.model.inherit import Condition
from config.tell.language import tr


class Config(SAC):
    """SAC_HER: SAC with hindsight experience replay, for goal-conditioned environments."""

    NEEDED = {"her_ratio": Condition(lambda cfg: cfg.her_ratio > 0, tr("0 disables hindsight: this is SAC then"))}

    her_ratio = 0.8
    gamma = 0.98
    normalize_obs = True
