"""Batch-constrained deep Q-learning (Fujimoto et al., 2019): the best of several actions like those of the data."""

from algos.bcq.config import Config as Config

NAME = "BCQ"
