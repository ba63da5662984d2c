"""Defaults of NoisyDQN: DQN's, except for these."""

from typing import ClassVar

from algos.common.settings import Exploration
from algos.dqn.config import Config as Family


class Config(Family):
    """NoisyDQN: DQN that explores by noise of learned size on its weights (noisy networks)."""

    FIXED: ClassVar = {"noisy": True}

    noisy: bool = True
    exploration_type: Exploration = "none"
