"""Advantage weighted actor-critic (Nair et al., 2020): imitates actions in proportion to exp(advantage)."""

from algos.awac.config import Config as Config

NAME = "AWAC"
