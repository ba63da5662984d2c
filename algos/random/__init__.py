"""Uniformly random legal actions: an opponent or a baseline among several policies."""

from algos.random.config import Config as Config

NAME = "Random"
ALIASES = ("RandomPolicy",)
