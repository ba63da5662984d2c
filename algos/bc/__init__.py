"""Behavior cloning: supervised learning of the actions in given data (Pomerleau, 1991)."""

from algos.bc.config import Config as Config

NAME = "BC"
ALIASES = ("behavior_cloning", "behaviour_cloning")
