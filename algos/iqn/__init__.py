"""IQN (Dabney et al., 2018b): the quantile function of the return, at any fraction."""

from algos.iqn.config import Config as Config

NAME = "IQN"
ALIASES = ("ImplicitQuantileNetwork",)
