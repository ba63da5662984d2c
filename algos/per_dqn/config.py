"""Defaults of PER_DQN: DQN's, except for these."""

from typing import ClassVar

from algos.common.settings import ReplayKind
from algos.dqn.config import Config as Family
from config.model.schema import Needed


class Config(Family):
    """PER_DQN: DQN with prioritized experience replay, which samples transitions with a large TD error more often."""

    FIXED: ClassVar = {
        "buffer_type": Needed(
            lambda cfg: cfg.buffer_type.startswith("PER"), "{value} has no priorities: without them this is DQN"
        ),
        "per_alpha": Needed(lambda cfg: cfg.per_alpha > 0, "0 draws uniformly: without priorities this is DQN"),
    }

    buffer_type: ReplayKind = "PER"
