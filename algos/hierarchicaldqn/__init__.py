"""Hierarchical DQN: one network chooses a state to reach, another one the actions (Kulkarni et al., 2016)."""

from algos.hierarchicaldqn.config import Config as Config

NAME = "HierarchicalDQN"
ALIASES = ("hDQN", "h-DQN")
