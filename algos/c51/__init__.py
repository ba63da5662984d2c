"""C51 (Bellemare et al., 2017): the distribution of the return, as probabilities of fixed atoms."""

from algos.c51.config import Config as Config

NAME = "C51"
ALIASES = ("CategoricalDQN", "Categorical_DQN", "DistributionalDQN")
