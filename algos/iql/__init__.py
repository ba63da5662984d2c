"""Implicit Q-learning (Kostrikov et al., 2022): values of given data without asking for actions outside of them."""

from algos.iql.config import Config as Config

NAME = "IQL"
