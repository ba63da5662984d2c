"""Defaults of DoubleDQN: those of DQN but for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family


class Config(Family):
    """DoubleDQN: DQN whose targets do not overrate actions that were lucky."""

    FIXED: ClassVar = {"double": True}

    double: bool = True
