"""AIRL: GAIL with a discriminator in which the reward and its shaping are networks of their own."""

from algos.gail.agent import Agent

__all__ = ["Agent"]
