"""Defaults of SAC_D."""

from typing import ClassVar

from algos.common.settings import ActorCriticConfig, TargetConfig, TemperatureConfig
from config.model.fields import Positive, PositiveFraction


class Config(ActorCriticConfig, TargetConfig, TemperatureConfig):
    """SAC_D: maximum entropy actor-critic for discrete actions."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    READ_WITH: ClassVar = {"target_entropy_scale": ("target_entropy", (None,))}

    critic_lr: Positive = 3e-4
    target_entropy_scale: PositiveFraction = 0.98
    """Target entropy as a share of the maximum, the logarithm of the number of legal actions, if target_entropy is
    null."""
