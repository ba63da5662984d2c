"""Defaults of Sarsa."""

from algos.qlearning.config import Config as QLearning
from config.model.inherit import fixed


class Config(QLearning):
    """Sarsa: a table of action values, updated with the action taken next."""

    lr = 0.2
    next_value = fixed("taken")
