"""Soft actor-critic (Haarnoja et al., 2018)."""

from algos.sac.config import Config as Config

NAME = "SAC"
ALIASES = ("SoftActorCritic",)
