"""Tabular Q-learning (Watkins, 1989)."""

from algos.qlearning.config import Config as Config

NAME = "QLearning"
ALIASES = (
    "Q-learning",
    "Q_learning",
)
