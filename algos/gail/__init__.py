"""Generative adversarial imitation learning (Ho and Ermon, 2016): PPO with the reward of a discriminator."""

from algos.gail.config import Config as Config

NAME = "GAIL"
