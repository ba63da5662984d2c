"""SAC with hindsight experience replay (Andrychowicz et al., 2017)."""

from algos.sac_her.config import Config

NAME = "SAC_HER"
ALIASES = ("HER_SAC",)

__all__ = ["ALIASES", "NAME", "Config"]
