"""Dueling DQN (Wang et al., 2016): separate streams for the value of a state and for advantages."""

from algos.duelingdqn.config import Config as Config

NAME = "DuelingDQN"
ALIASES = ("Dueling_DQN",)
