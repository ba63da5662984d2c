"""Defaults of NoisyDQN: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """NoisyDQN: DQN that explores by noise of learned size on its weights (noisy networks)."""

    noisy = fixed(True)
    exploration_type = "none"
