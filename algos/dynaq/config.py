"""Defaults of Dyna-Q."""

from typing import Annotated

from pydantic import Field

from algos.common.settings import TableConfig
from config.model.fields import Int
from config.model.memory_spec import RolloutSpec
from config.model.schedules import TableRate
from config.model.schema import run


class Config(TableConfig):
    """Dyna-Q: Q-learning from every step, and from simulated steps of a learned model."""

    RUN = run(episodes=500, save=5000)

    lr: TableRate = 0.5
    """Learning rate: share of the TD error by which a value changes."""
    n_planning: Annotated[Int, Field(ge=0)] = 10
    """Number of updates from the model after each environment step."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)
