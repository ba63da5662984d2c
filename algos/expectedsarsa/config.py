"""Defaults of Expected Sarsa."""

from algos.qlearning.config import Config as QLearning
from config.model.inherit import fixed


class Config(QLearning):
    """Expected Sarsa: a table of action values, updated with the expectation under the exploring policy."""

    next_value = fixed("expected")
