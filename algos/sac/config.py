"""Defaults of SAC."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from algos.common.settings import ContinuousConfig, TargetConfig, TemperatureConfig
from config.schema import PositiveInt, Problem


class Config(ContinuousConfig, TargetConfig, TemperatureConfig):
    """SAC: a policy that is as random as it can afford, for continuous actions."""

    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")

    target_critics: PositiveInt = 2
    """Critics whose smallest value makes the target; fewer than n_critics are drawn anew for each update."""
    actor_value: Literal["min", "mean"] = "min"
    """What the actor follows of its critics: the smallest value, or their mean."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.target_critics > self.n_critics:
            message = f"{self.target_critics} is more than n_critics, {self.n_critics}"
            yield Problem("target_critics", message, depends_on=("n_critics",))
