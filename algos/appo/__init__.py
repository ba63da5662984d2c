"""Asynchronous PPO (Luo et al., 2020): PPO with workers that do not wait, whose lag V-trace corrects."""

from algos.appo.config import Config as Config

NAME = "APPO"
