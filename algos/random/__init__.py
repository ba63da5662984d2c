"""Uniformly random legal actions: an opponent or a baseline among several policies."""

from algos.random.config import Config

NAME = "Random"
ALIASES = ("RandomPolicy",)

__all__ = ["ALIASES", "NAME", "Config"]
