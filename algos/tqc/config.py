"""Defaults of TQC."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from algos.common.settings import SoftPolicyConfig, StateNoiseConfig, TargetConfig
from config.model.fields import Int, PositiveInt, Problem
from config.model.inherit import fixed
from config.tell.language import tr


class Config(SoftPolicyConfig, TargetConfig, StateNoiseConfig):
    """TQC: SAC with quantile critics, whose largest quantiles are truncated in the target."""

    SPECIAL_LAYERS = ("lstm", "gru")
    critic_lr = 3e-4
    loss = fixed("huber")
    n_quantiles: PositiveInt = 25
    """Quantiles per critic."""
    drop_quantiles: Annotated[Int, Field(ge=0)] = 2
    """Largest quantiles dropped from the target, per critic, against overestimation."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.drop_quantiles >= self.n_quantiles:
            count = self.n_quantiles
            message = tr("{value} leaves nothing of n_quantiles, {count}", value=self.drop_quantiles, count=count)
            yield Problem("drop_quantiles", message, depends_on=("n_quantiles",))
