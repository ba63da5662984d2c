"""Defaults of RainbowDQN, from its paper."""

from algos.c51.config import Config as Family
from algos.common.settings import Exploration, ReplayKind
from config.model.fields import Fraction, Positive, PositiveInt


class Config(Family):
    """RainbowDQN: six improvements of DQN in one. Each can be switched off to measure its contribution."""

    # none of them is FIXED: the paper has results without each

    double: bool = True
    dueling: bool = True
    noisy: bool = True
    exploration_type: Exploration = "none"
    gamma: Fraction = 0.99
    lr: Positive = 6.25e-5
    adam_epsilon: Positive = 1.5e-4
    batch_size: PositiveInt = 32
    train_fre: PositiveInt = 4
    target_update: PositiveInt = 2000
    """Updates between two copies to the target network: 8,000 environment steps, at one update per 4 steps."""
    n_step: PositiveInt = 3
    buffer_type: ReplayKind = "PER"
    per_alpha: Fraction = 0.5
