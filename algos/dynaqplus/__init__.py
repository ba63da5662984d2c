"""Tabular Dyna-Q+: Dyna-Q with a bonus for actions that were not tried for long (Sutton, 1990)."""

from algos.dynaqplus.config import Config as Config

NAME = "DynaQPlus"
ALIASES = ("DynaQ+", "Dyna-Q+")
