"""Defaults of SoftQ: DQN's, except for these."""

from typing import ClassVar

from algos.common.settings import Exploration
from algos.dqn.config import Config as Family
from config.model.fields import Positive


class Config(Family):
    """SoftQ: soft Q-learning, the values of a maximum-entropy policy."""

    ALIASES: ClassVar = {**Family.ALIASES, "alpha": "temperature"}
    FIXED: ClassVar = {"soft": True}

    soft: bool = True
    exploration_type: Exploration = "softmax"
    temperature: Positive = 0.1
