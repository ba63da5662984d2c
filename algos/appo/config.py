"""Defaults of APPO: PPO's, except for these."""

from algos.ppo.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """APPO: PPO with asynchronous workers, whose lag V-trace corrects; in one process it is PPO with V-trace."""

    RUN_AHEAD = 2

    vtrace = fixed(True)
    k_epochs = 4
    normalize_obs = False
