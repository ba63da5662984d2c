"""Multi-agent PPO: each agent acts on its own observation, the critic sees the global state (Yu et al., 2022)."""

from algos.mappo.config import Config as Config

NAME = "MAPPO"
