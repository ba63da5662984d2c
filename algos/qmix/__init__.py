"""Monotonic value function factorization: cooperating agents, trained as one (Rashid et al., 2018)."""

from algos.qmix.config import Config as Config

NAME = "QMIX"
