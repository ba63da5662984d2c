"""Critic regularized regression (Wang et al., 2020): imitates the actions that are better than those of the policy."""

from algos.crr.config import Config as Config

NAME = "CRR"
