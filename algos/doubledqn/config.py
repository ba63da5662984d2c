"""Defaults of DoubleDQN: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """DoubleDQN: DQN with double Q-learning, which reduces the overestimation of values."""

    double = fixed(True)
