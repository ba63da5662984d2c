"""Dueling DQN (Wang et al., 2016): the value of a state is learned once, not once for each action."""

from algos.duelingdqn.config import Config

NAME = "DuelingDQN"
ALIASES = ("Dueling_DQN",)

__all__ = ["ALIASES", "NAME", "Config"]
