"""Deep recurrent Q-learning (Hausknecht and Stone, 2015): values from a recurrent network."""

from algos.drqn.config import Config as Config

NAME = "DRQN"
ALIASES = ("RecurrentDQN",)
