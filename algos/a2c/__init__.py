"""Advantage actor-critic, synchronous (Mnih et al., 2016)."""

from algos.a2c.config import Config

NAME = "A2C"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
