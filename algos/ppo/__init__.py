"""Proximal policy optimization with a clipped ratio (Schulman et al., 2017)."""

from algos.ppo.config import Config

NAME = "PPO"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
