"""Deep Q-network (Mnih et al., 2015)."""

from algos.dqn.config import Config as Config

NAME = "DQN"
ALIASES = ("DQN_new",)
