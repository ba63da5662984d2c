"""Deep deterministic policy gradient (Lillicrap et al., 2016)."""

from algos.ddpg.config import Config

NAME = "DDPG"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
