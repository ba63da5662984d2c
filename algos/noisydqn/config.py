"""Defaults of NoisyDQN: those of DQN but for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family
from config.schema import Exploration


class Config(Family):
    """NoisyDQN: DQN that explores by noise of learned size on its weights."""

    FIXED: ClassVar = {"noisy": True}

    noisy: bool = True
    exploration_type: Exploration = "none"
