"""Defaults of SoftQ: those of DQN but for these."""

from typing import ClassVar

from algos.common.settings import Exploration
from algos.dqn.config import Config as Family
from config.schema import Positive


class Config(Family):
    """SoftQ: values of a policy that prefers better actions, but not only the best."""

    ALIASES: ClassVar = {**Family.ALIASES, "alpha": "temperature"}
    FIXED: ClassVar = {"soft": True}

    soft: bool = True
    exploration_type: Exploration = "softmax"
    temperature: Positive = 0.1
