"""Defaults of PER_DQN: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import Condition
from config.tell.language import tr


class Config(Family):
    """PER_DQN: DQN with prioritized experience replay, which samples transitions with a large TD error more often."""

    NEEDED = {
        "buffer_type": Condition(
            lambda cfg: cfg.buffer_type.startswith("PER"), tr("{value} has no priorities: without them this is DQN")
        ),
        "per_alpha": Condition(lambda cfg: cfg.per_alpha > 0, tr("0 draws uniformly: without priorities this is DQN")),
    }

    buffer_type = "PER"
