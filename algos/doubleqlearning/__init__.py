"""Tabular double Q-learning (van Hasselt, 2010)."""

from algos.doubleqlearning.config import Config as Config

NAME = "DoubleQLearning"
ALIASES = ("DoubleQ", "Double_Q_learning")
