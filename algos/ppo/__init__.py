"""Proximal policy optimization with a clipped ratio (Schulman et al., 2017)."""

from algos.ppo.config import Config as Config

NAME = "PPO"
