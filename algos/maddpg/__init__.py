"""Multi-agent DDPG: each agent acts on its own observation, the critic sees all of them (Lowe et al., 2017)."""

from algos.maddpg.config import Config

NAME = "MADDPG"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
