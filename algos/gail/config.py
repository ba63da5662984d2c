"""Defaults of GAIL: PPO's, and a discriminator."""

from typing import ClassVar

from algos.common.imitation_settings import DiscriminatorConfig
from algos.ppo.config import Config as Family


class Config(DiscriminatorConfig, Family):
    """GAIL: PPO whose rewards come from a discriminator between given data and its own steps."""

    ALIASES: ClassVar = {**Family.ALIASES, **DiscriminatorConfig.ALIASES}
    SPECIAL_LAYERS: ClassVar = ()
    FIXED: ClassVar = {"shaping": False}
