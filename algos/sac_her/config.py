"""SAC with hindsight experience replay."""

from collections.abc import Iterator

from algos.sac.config import Config as SAC
from config.schema import Fraction, Problem


class Config(SAC):
    """SAC_HER: SAC with hindsight experience replay, for goal-conditioned environments."""

    her_ratio: Fraction = 0.8

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.her_ratio == 0:
            yield Problem("her_ratio", "0 disables hindsight: this is SAC then")
