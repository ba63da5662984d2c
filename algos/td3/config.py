"""Defaults of TD3."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from algos.common.settings import ContinuousConfig, TargetConfig
from config.schema import NonNegative, PositiveInt, Problem, lower


class Config(ContinuousConfig, TargetConfig):
    """TD3: a policy without randomness follows the smaller of two values, more slowly than they learn."""

    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")

    policy_freq: PositiveInt = 2
    """Updates of the critics for one of the actor, with which the target networks move."""
    target_update: PositiveInt = 1
    """Updates of the actor between two moves of the target networks: target_update times policy_freq of the critics."""
    policy_noise: NonNegative = 0.2
    """Standard deviation of the noise on the target's actions, where actions go from -1 to 1."""
    noise_clip: NonNegative = 0.5
    """Largest such noise."""
    exploration_type: Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)] = "gaussian"

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        yield from self.unread("policy_noise, and policy_noise is 0", self.policy_noise > 0, "noise_clip")
