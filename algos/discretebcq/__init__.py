"""Batch-constrained Q-learning (Fujimoto et al., 2019) for discrete actions: actions that the data would choose."""

from algos.discretebcq.config import Config as Config

NAME = "DiscreteBCQ"
ALIASES = ("BCQ_D", "BCQ_DQN", "Discrete_BCQ")
