"""Asynchronous advantage actor-critic (Mnih et al., 2016): A2C by workers that do not wait for one another."""

from algos.a3c.config import Config

NAME = "A3C"
ALIASES = ()

__all__ = ["ALIASES", "NAME", "Config"]
