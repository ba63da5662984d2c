"""Deep recurrent Q-learning (Hausknecht and Stone, 2015): values from a recurrent network."""

from algos.drqn.config import Config

NAME = "DRQN"
ALIASES = ("RecurrentDQN",)

__all__ = ["ALIASES", "NAME", "Config"]
