"""Advantage actor-critic, synchronous (Mnih et al., 2016)."""

from algos.a2c.config import Config as Config

NAME = "A2C"
