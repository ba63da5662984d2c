"""SAC with hindsight experience replay (Andrychowicz et al., 2017)."""

from algos.sac_her.config import Config as Config

NAME = "SAC_HER"
ALIASES = ("HER_SAC",)
