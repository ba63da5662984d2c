"""Defaults of SAC."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from algos.common.settings import ContinuousConfig, TargetConfig, TemperatureConfig
from config.schema import PositiveInt, Problem


class Config(ContinuousConfig, TargetConfig, TemperatureConfig):
    """SAC: maximum entropy actor-critic for continuous actions."""

    SPECIAL_LAYERS: ClassVar[tuple[str, ...]] = ("lstm", "gru")

    target_critics: PositiveInt = 2
    """Size of the subset of target critics whose minimum is the target; below n_critics, a new random subset is drawn
    in each update."""
    actor_value: Literal["min", "mean"] = "min"
    """Value that the actor maximizes: the minimum or the mean of the critics."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.target_critics > self.n_critics:
            message = f"{self.target_critics} is more than n_critics, {self.n_critics}"
            yield Problem("target_critics", message, depends_on=("n_critics",))
