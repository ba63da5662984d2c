"""Soft Q-learning for discrete actions (Haarnoja et al., 2017): the values of a maximum-entropy policy."""

from algos.softq.config import Config as Config

NAME = "SoftQ"
ALIASES = ("SoftQLearning", "Soft_Q")
