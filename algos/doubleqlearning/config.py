"""Defaults of double Q-learning."""

from algos.qlearning.config import Config as QLearning
from config.model.inherit import fixed


class Config(QLearning):
    """DoubleQLearning: two tables of action values, each of which judges the best actions of the other."""

    double = fixed(True)
