"""Soft Q imitation learning (Reddy, Dragan and Levine, 2020): soft Q-learning with a reward of 1 for given data."""

from algos.sqil.config import Config as Config

NAME = "SQIL"
