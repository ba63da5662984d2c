"""Defaults of SQIL: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """SQIL: soft Q-learning with a reward of 1 for each step of given data, and of 0 for each of its own."""

    ALIASES = {"alpha": "temperature"}
    IMITATES = True

    imitate = fixed(True)
    soft = fixed(True)
    exploration_type = "softmax"
    temperature = 0.1
    gamma = 0.99
