"""Policy iteration with the known transition model of a finite environment (Howard, 1960)."""

from algos.policyiteration.config import Config

NAME = "PolicyIteration"
ALIASES = ("PI", "Policy_Iteration")

__all__ = ["ALIASES", "NAME", "Config"]
