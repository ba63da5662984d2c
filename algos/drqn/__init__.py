"""Deep recurrent Q-learning (Hausknecht and Stone, 2015): values that depend on what was seen before."""

from algos.drqn.config import Config

NAME = "DRQN"
ALIASES = ("RecurrentDQN",)

__all__ = ["ALIASES", "NAME", "Config"]
