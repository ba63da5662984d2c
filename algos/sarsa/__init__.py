"""Tabular Sarsa (Rummery and Niranjan, 1994)."""

from algos.sarsa.config import Config as Config

NAME = "Sarsa"
ALIASES = ("SARSA(0)",)
