"""Settings of an algorithm whose updates take a known time."""

from typing import ClassVar

from algos.common.settings import NetworkConfig
from config.model.fields import Positive
from config.model.memory_spec import ReplaySpec

BATCH = 16


class Config(NetworkConfig):
    """One update per step: a whole batch takes `seconds`, a part of it proportionally less."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    MAY_LAG: ClassVar = True
    RUN_AHEAD: ClassVar = 2

    seconds: Positive = 0.1
    """Seconds that an update from a whole batch takes."""

    def memory(self, rows: int) -> ReplaySpec:
        return ReplaySpec(capacity=1000, batch_size=BATCH, warmup=1, updates_per_step=1.0, gamma=self.gamma)
