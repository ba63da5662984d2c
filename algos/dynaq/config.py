"""Defaults of Dyna-Q."""

from typing import Annotated

from pydantic import Field

from algos.common.settings import TableConfig
from config.schema import Int, PositiveFraction, RolloutSpec


class Config(TableConfig):
    """Dyna-Q: Q-learning from every step, and from steps that a learned model remembers."""

    lr: PositiveFraction = 0.1
    """Share of the error by which a value moves."""
    n_planning: Annotated[Int, Field(ge=0)] = 10
    """Updates from the model after each environment step."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)
