"""Earlier name of the package algos.random."""

from algos.random import ALIASES, NAME, Config, __path__

__all__ = ["ALIASES", "NAME", "Config", "__path__"]
