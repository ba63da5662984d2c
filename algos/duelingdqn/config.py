"""Defaults of DuelingDQN: DQN's, except for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family


class Config(Family):
    """DuelingDQN: DQN that estimates the value of a state and the advantages of its actions separately."""

    FIXED: ClassVar = {"dueling": True}

    dueling: bool = True
