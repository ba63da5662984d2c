"""Tabular Dyna-Q (Sutton, 1990)."""

from algos.dynaq.config import Config

NAME = "DynaQ"
ALIASES = ("Dyna-Q", "Dyna_Q")

__all__ = ["ALIASES", "NAME", "Config"]
