"""Defaults of PER_DQN: those of DQN but for these."""

from algos.dqn.config import Config as Family
from config.schema import ReplayKind


class Config(Family):
    """PER_DQN: DQN that draws surprising transitions more often, and corrects for it."""

    buffer_type: ReplayKind = "PER"
