"""DQN with prioritised replay (Schaul et al., 2016): what surprised most is learned from most."""

from algos.per_dqn.config import Config

NAME = "PER_DQN"
ALIASES = ("PERDQN", "PrioritizedDQN")

__all__ = ["ALIASES", "NAME", "Config"]
