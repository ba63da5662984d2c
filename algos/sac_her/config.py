"""SAC with hindsight: goals that were reached later in the place of those that were wanted."""

from collections.abc import Iterator

from algos.sac.config import Config as SAC
from config.schema import Fraction, Problem


class Config(SAC):
    """SAC_HER: SAC for observations that name a goal."""

    her_ratio: Fraction = 0.8

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.her_ratio == 0:
            yield Problem("her_ratio", "0 replaces no goal: without hindsight this is SAC")
