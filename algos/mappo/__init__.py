"""Multi-agent PPO: each agent acts on its own observation, the critic sees the global state (Yu et al., 2022)."""

from algos.mappo.config import Config

NAME = "MAPPO"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
