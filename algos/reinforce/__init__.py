"""Policy gradient from complete episodes (Williams, 1992)."""

from algos.reinforce.config import Config

NAME = "REINFORCE"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
