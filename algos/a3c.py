"""Earlier name of the package algos.impala."""

from algos.impala import ALIASES, NAME, Config, __path__

__all__ = ["ALIASES", "NAME", "Config", "__path__"]
