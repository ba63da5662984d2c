"""Defaults of PER_DQN: DQN's, except for these."""

from collections.abc import Iterator

from algos.common.settings import ReplayKind
from algos.dqn.config import Config as Family
from config.schema import Problem


class Config(Family):
    """PER_DQN: DQN with prioritised experience replay, which samples transitions with a large TD error more often."""

    buffer_type: ReplayKind = "PER"

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if not self.buffer_type.startswith("PER"):
            yield Problem("buffer_type", f"{self.buffer_type} has no priorities: without them this is DQN")
        elif self.per_alpha == 0:
            yield Problem("per_alpha", "0 draws uniformly: without priorities this is DQN")
