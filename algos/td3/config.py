"""Defaults of TD3."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from algos.common.settings import ContinuousConfig, TargetConfig
from config.schema import NonNegative, PositiveInt, Problem, lower


class Config(ContinuousConfig, TargetConfig):
    """TD3: a deterministic policy with two critics, target policy smoothing and delayed policy updates."""

    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")

    policy_freq: PositiveInt = 2
    """Critic updates per update of the actor and the target networks (policy delay)."""
    target_update: PositiveInt = 1
    """Update the target networks every this many actor updates: every target_update times policy_freq critic
    updates."""
    policy_noise: NonNegative = 0.2
    """Standard deviation of the noise on target actions (smoothing), with actions scaled to -1..1."""
    noise_clip: NonNegative = 0.5
    """Clip range of that noise."""
    exploration_type: Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)] = "gaussian"

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        yield from self.unread("policy_noise, and policy_noise is 0", self.policy_noise > 0, "noise_clip")
