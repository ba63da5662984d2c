"""Defaults of SAC_D."""

from typing import Annotated, ClassVar

from pydantic import Field

from config.replay import ActorCriticConfig, TemperatureConfig


class Config(ActorCriticConfig, TemperatureConfig):
    """SAC_D: a policy that is as random as it can afford, for a finite set of actions."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")

    target_entropy_scale: Annotated[float, Field(gt=0.0, le=1.0)] = 0.98
    """Share of the largest entropy, the logarithm of the number of legal actions, that a target_entropy of null is."""
    tau: Annotated[float, Field(gt=0.0, le=1.0)] = 0.005
    """Share of the critics that is mixed into their target networks at each update."""
