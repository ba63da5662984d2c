"""Defaults of SoftQ: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """SoftQ: soft Q-learning, the values of a maximum-entropy policy."""

    ALIASES = {"alpha": "temperature"}

    soft = fixed(True)
    double = False
    exploration_type = "softmax"
    temperature = 0.1
