"""Defaults of SAC_D."""

from typing import ClassVar

from algos.common.settings import ActorCriticConfig, TargetConfig, TemperatureConfig
from config.schema import PositiveFraction


class Config(ActorCriticConfig, TargetConfig, TemperatureConfig):
    """SAC_D: a policy that is as random as it can afford, for a finite set of actions."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    READ_WITH: ClassVar = {"target_entropy_scale": ("target_entropy", (None,))}

    target_entropy_scale: PositiveFraction = 0.98
    """Share of the largest entropy, the logarithm of the number of legal actions, that a target_entropy of null is."""
