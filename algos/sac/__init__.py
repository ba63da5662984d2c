"""Soft actor-critic (Haarnoja et al., 2018)."""

from algos.sac.config import Config

NAME = "SAC"
ALIASES = ("SoftActorCritic",)

__all__ = ["ALIASES", "NAME", "Config"]
