"""Randomized ensembled double Q-learning (Chen et al., 2021)."""

from algos.redq.config import Config as Config

NAME = "REDQ"
