"""IQN (Dabney et al., 2018b): the distribution of the return, at any fraction that is asked for."""

from algos.iqn.config import Config

NAME = "IQN"
ALIASES = ("ImplicitQuantileNetwork",)

__all__ = ["ALIASES", "NAME", "Config"]
