"""Tabular Expected Sarsa (van Seijen et al., 2009)."""

from algos.expectedsarsa.config import Config

NAME = "ExpectedSarsa"
ALIASES = ("Expected_Sarsa", "Expected-Sarsa")

__all__ = ["ALIASES", "NAME", "Config"]
