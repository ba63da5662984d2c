"""Defaults of MunchausenDQN: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import Condition, fixed
from config.tell.language import tr


class Config(Family):
    """MunchausenDQN: DQN with soft values, whose rewards grow with the log probability of the action taken."""

    NEEDED = {
        "munchausen_alpha": Condition(
            lambda cfg: cfg.munchausen_alpha > 0, tr("0 adds nothing to the rewards: this is SoftQ then")
        ),
    }

    soft = fixed(True)
    double = False
    temperature = 0.03
    munchausen_alpha = 0.9
