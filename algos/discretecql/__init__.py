"""Conservative Q-learning (Kumar et al., 2020) for discrete actions, on DQN."""

from algos.discretecql.config import Config as Config

NAME = "DiscreteCQL"
ALIASES = ("CQL_D", "CQL_DQN", "Discrete_CQL")
