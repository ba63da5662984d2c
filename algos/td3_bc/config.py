"""Defaults of TD3_BC: TD3's, except for these."""

from algos.td3.config import Config as Family


class Config(Family):
    """TD3_BC: TD3 on given data, with a policy that stays close to their actions."""

    OFFLINE = True
    RUN = {}

    bc_alpha = 2.5
    normalize_obs = True
    critic_lr = 3e-4
