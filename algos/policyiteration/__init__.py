"""Policy iteration with the known transition model of a finite environment (Howard, 1960)."""

from algos.policyiteration.config import Config as Config

NAME = "PolicyIteration"
ALIASES = ("PI", "Policy_Iteration")
