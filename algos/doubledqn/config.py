"""Defaults of DoubleDQN: DQN's, except for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family


class Config(Family):
    """DoubleDQN: DQN with double Q-learning, which reduces the overestimation of values."""

    FIXED: ClassVar = {"double": True}

    double: bool = True
