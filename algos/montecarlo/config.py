"""Defaults of Monte Carlo control."""

from algos.common.settings import TableConfig
from config.model.memory_spec import RolloutSpec
from config.model.schedules import TableRate
from config.model.schema import run


class Config(TableConfig):
    """Monte Carlo: a table of action values, learned from the returns of complete episodes."""

    RUN = run(episodes=2000, save=200)

    lr: TableRate | None = 0.1
    """Learning rate: share of the error by which a value changes; null: each value is the mean of its returns."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1, unit="episodes")
