"""Soft actor-critic for discrete actions (Christodoulou, 2019)."""

from algos.sac_d.config import Config

NAME = "SAC_D"
ALIASES = ("SAC_Discrete",)

__all__ = ["ALIASES", "NAME", "Config"]
