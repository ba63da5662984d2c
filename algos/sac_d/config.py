"""Defaults of SAC_D."""

from collections.abc import Iterator
from typing import ClassVar

from algos.common.settings import ActorCriticConfig, TargetConfig, TemperatureConfig
from config.schema import PositiveFraction, Problem


class Config(ActorCriticConfig, TargetConfig, TemperatureConfig):
    """SAC_D: maximum entropy actor-critic for discrete actions."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")

    target_entropy_scale: PositiveFraction = 0.98
    """Target entropy as a share of the maximum, the logarithm of the number of legal actions, if target_entropy is
    null."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        yield from self.only_with("alpha", ("auto",), "target_entropy_scale")
        yield from self.only_with("target_entropy", (None,), "target_entropy_scale")
