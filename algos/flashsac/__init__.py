"""FlashSAC (Kim et al., 2026): SAC with batch normalization, weights of constant norm, and critics with bins."""

from algos.flashsac.config import Config as Config

NAME = "FlashSAC"
ALIASES = ("Flash_SAC",)
