"""Defaults of DuelingDQN: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """DuelingDQN: DQN that estimates the value of a state and the advantages of its actions separately."""

    dueling = fixed(True)
