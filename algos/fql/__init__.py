"""Flow Q-learning (Park et al., 2025): a flow imitates the data, and a policy of one step is distilled from it."""

from algos.fql.config import Config as Config

NAME = "FQL"
ALIASES = ("FlowQ",)
