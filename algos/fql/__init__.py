"""Flow Q-learning (Park, Li and Levine, 2025): a flow imitates the data, and a policy of one step is distilled from it
while it maximizes the value."""

from algos.fql.config import Config as Config

NAME = "FQL"
ALIASES = ("FlowQ",)
