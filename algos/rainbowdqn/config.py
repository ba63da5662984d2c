"""Defaults of RainbowDQN: those of C51, and the other parts of the paper."""

from algos.c51.config import Config as Family


class Config(Family):
    """RainbowDQN: six improvements of DQN in one. Each can be switched off to measure its contribution."""

    # none of the six parts is fixed: the paper has results without each

    dueling = True
    noisy = True
    exploration_type = "none"
    lr = 2.5e-4
    adam_epsilon = 1.5e-4
    n_step = 3
    buffer_type = "PER"
    per_alpha = 0.5
