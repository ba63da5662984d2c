"""Tabular Dyna-Q (Sutton, 1990)."""

from algos.dynaq.config import Config as Config

NAME = "DynaQ"
ALIASES = ("Dyna-Q", "Dyna_Q")
