"""Soft actor-critic for discrete actions (Christodoulou, 2019)."""

from algos.sac_d.config import Config as Config

NAME = "SAC_D"
ALIASES = ("SAC_Discrete",)
