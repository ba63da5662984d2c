"""Soft Q-learning for discrete actions (Haarnoja et al., 2017): the values of a maximum-entropy policy."""

from algos.softq.config import Config

NAME = "SoftQ"
ALIASES = ("SoftQLearning", "Soft_Q")

__all__ = ["ALIASES", "NAME", "Config"]
