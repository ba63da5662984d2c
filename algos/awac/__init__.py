"""Advantage weighted actor-critic (Nair et al., 2020): imitates actions in proportion to exp(advantage)."""

from algos.awac.config import Config

NAME = "AWAC"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
