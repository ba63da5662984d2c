"""Defaults of AIRL: PPO's, and a discriminator from which a reward function can be read."""

from typing import ClassVar, Literal

from algos.common.imitation_settings import DiscriminatorConfig
from algos.ppo.config import Config as Family


class Config(DiscriminatorConfig, Family):
    """AIRL: PPO whose rewards come from a discriminator that holds a reward function and its shaping."""

    ALIASES: ClassVar = {**Family.ALIASES, **DiscriminatorConfig.ALIASES}
    SPECIAL_LAYERS: ClassVar = ()
    FIXED: ClassVar = {"shaping": True, "imitation_reward": "log_odds"}

    shaping: bool = True
    imitation_reward: Literal["positive", "negative", "log_odds"] = "log_odds"
