"""Tabular Sarsa (Rummery and Niranjan, 1994)."""

from algos.sarsa.config import Config

NAME = "Sarsa"
ALIASES = ("SARSA(0)",)

__all__ = ["ALIASES", "NAME", "Config"]
