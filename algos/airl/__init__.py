"""Adversarial inverse reinforcement learning (Fu, Luo and Levine, 2018): GAIL that finds a reward function."""

from algos.airl.config import Config as Config

NAME = "AIRL"
