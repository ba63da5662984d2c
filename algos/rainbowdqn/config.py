"""Defaults of RainbowDQN: those of C51 but for these."""

from algos.c51.config import Config as Family
from algos.common.settings import Exploration, ReplayKind
from config.schema import Fraction, PositiveInt


class Config(Family):
    """RainbowDQN: six improvements of DQN in one. Each may be switched off to see what it is worth."""

    double: bool = True
    dueling: bool = True
    noisy: bool = True
    exploration_type: Exploration = "none"
    n_step: PositiveInt = 3
    buffer_type: ReplayKind = "PER"
    per_alpha: Fraction = 0.5
