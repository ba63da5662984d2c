"""Conservative Q-learning (Kumar et al., 2020) for continuous actions, on SAC."""

from algos.cql.config import Config as Config

NAME = "CQL"
ALIASES = ("CQL_SAC",)
