"""Tabular Expected Sarsa (van Seijen et al., 2009)."""

from algos.expectedsarsa.config import Config as Config

NAME = "ExpectedSarsa"
ALIASES = ("Expected_Sarsa", "Expected-Sarsa")
