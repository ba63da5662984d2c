"""Heterogeneous-agent PPO (Kuba et al., 2022): the agents' policies are improved one after the other."""

from algos.happo.config import Config as Config

NAME = "HAPPO"
