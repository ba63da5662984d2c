"""Defaults of TQC."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from algos.common.settings import ContinuousConfig, TargetConfig, TemperatureConfig
from config.model.fields import Int, Positive, PositiveInt, Problem


class Config(ContinuousConfig, TargetConfig, TemperatureConfig):
    """TQC: SAC with quantile critics, whose largest quantiles are truncated in the target."""

    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    FIXED: ClassVar[dict[str, Any]] = {"loss": "huber"}

    critic_lr: Positive = 3e-4
    loss: Literal["mse", "huber"] = "huber"
    n_quantiles: PositiveInt = 25
    """Quantiles per critic."""
    drop_quantiles: Annotated[Int, Field(ge=0)] = 2
    """Largest quantiles dropped from the target, per critic, against overestimation."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.drop_quantiles >= self.n_quantiles:
            message = f"{self.drop_quantiles} leaves nothing of n_quantiles, {self.n_quantiles}"
            yield Problem("drop_quantiles", message, depends_on=("n_quantiles",))
