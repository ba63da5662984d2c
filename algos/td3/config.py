"""Defaults of TD3."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from algos.common.settings import ContinuousConfig, TargetConfig
from config.schema import NonNegative, PositiveInt, lower


class Config(ContinuousConfig, TargetConfig):
    """TD3: a policy without randomness follows the smaller of two values, more slowly than they learn."""

    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    READ_WITH: ClassVar = {"noise_clip": ("policy_noise", ())}

    policy_freq: PositiveInt = 2
    """Updates of the critics for one of the actor, with which the target networks move."""
    target_update: PositiveInt = 1
    """Updates of the actor between two moves of the target networks: target_update times policy_freq of the critics."""
    policy_noise: NonNegative = 0.2
    """Standard deviation of the noise on the target's actions, where actions go from -1 to 1."""
    noise_clip: NonNegative = 0.5
    """Largest such noise."""
    exploration_type: Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)] = "gaussian"
