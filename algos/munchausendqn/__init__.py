"""Munchausen DQN (Vieillard et al., 2020): soft values, and a share of the log policy added to each reward."""

from algos.munchausendqn.config import Config as Config

NAME = "MunchausenDQN"
ALIASES = ("MDQN", "M_DQN")
