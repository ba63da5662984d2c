"""SAC with dropout and normalization in its critics (Hiraoka et al., 2022)."""

from algos.droq.config import Config

NAME = "DroQ"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
