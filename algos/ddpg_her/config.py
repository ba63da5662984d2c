"""DDPG with hindsight experience replay."""

from algos.td3.config import Config as TD3
from config.model.inherit import Condition, fixed
from config.tell.language import tr


class Config(TD3):
    """DDPG_HER: DDPG with hindsight experience replay, for goal-conditioned environments."""

    NEEDED = {"her_ratio": Condition(lambda cfg: cfg.her_ratio > 0, tr("0 disables hindsight: this is DDPG then"))}

    n_critics = fixed(1)
    policy_noise = fixed(0.0)
    policy_freq = 1
    actor_lr = 1e-3
    tau = 0.05
    expl_noise = 0.2
    her_ratio = 0.8
    gamma = 0.98
    normalize_obs = True
