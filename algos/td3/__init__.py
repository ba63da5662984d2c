"""Twin delayed deep deterministic policy gradient (Fujimoto et al., 2018)."""

from algos.td3.config import Config

NAME = "TD3"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
