"""DDPG with hindsight experience replay (Andrychowicz et al., 2017)."""

from algos.ddpg_her.config import Config as Config

NAME = "DDPG_HER"
ALIASES = ("HER_DDPG",)
