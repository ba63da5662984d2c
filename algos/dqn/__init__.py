"""Deep Q-network (Mnih et al., 2015)."""

from algos.dqn.config import Config

NAME = "DQN"
ALIASES = ("DQN_new",)

__all__ = ["ALIASES", "NAME", "Config"]
