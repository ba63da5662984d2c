"""Defaults of SQIL: DQN's, except for these."""

from typing import ClassVar

from algos.common.settings import Exploration
from algos.dqn.config import Config as Family
from config.model.fields import Fraction, Positive


class Config(Family):
    """SQIL: soft Q-learning with a reward of 1 for each step of given data, and of 0 for each of its own."""

    ALIASES: ClassVar = {**Family.ALIASES, "alpha": "temperature"}
    FIXED: ClassVar = {"imitate": True, "soft": True}
    IMITATES: ClassVar = True

    imitate: bool = True
    soft: bool = True
    exploration_type: Exploration = "softmax"
    temperature: Positive = 0.1
    gamma: Fraction = 0.99
