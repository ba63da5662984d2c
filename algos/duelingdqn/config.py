"""Defaults of DuelingDQN: those of DQN but for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family


class Config(Family):
    """DuelingDQN: DQN that learns the value of a state apart from the advantages of its actions."""

    FIXED: ClassVar = {"dueling": True}

    dueling: bool = True
