"""Critic regularized regression (Wang et al., 2020): imitates the actions that are better than those of the policy."""

from algos.crr.config import Config

NAME = "CRR"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
