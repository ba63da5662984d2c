"""Defaults of TD3."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from config.replay import ContinuousConfig
from config.schema import NonNegative, PositiveFraction, PositiveInt, lower


class Config(ContinuousConfig):
    """TD3: a policy without randomness follows the smaller of two values, more slowly than they learn."""

    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")

    policy_freq: PositiveInt = 2
    """Updates of the critics for one of the actor and of the target networks."""
    policy_noise: NonNegative = 0.2
    """Standard deviation of the noise on the target's actions, where actions go from -1 to 1."""
    noise_clip: NonNegative = 0.5
    """Largest such noise."""
    tau: PositiveFraction = 0.005
    """Share of the networks that is mixed into their targets each time."""
    exploration_type: Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)] = "gaussian"
