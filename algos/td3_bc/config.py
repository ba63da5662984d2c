"""Defaults of TD3_BC: TD3's, except for these."""

from typing import ClassVar

from algos.td3.config import Config as Family
from config.model.fields import Positive


class Config(Family):
    """TD3_BC: TD3 on given data, with a policy that stays close to their actions."""

    OFFLINE: ClassVar = True

    bc_alpha: Positive | None = 2.5
    normalize_obs: bool = True
    critic_lr: Positive = 3e-4
