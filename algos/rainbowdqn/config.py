"""Defaults of RainbowDQN, from its paper."""

from algos.c51.config import Config as Family


class Config(Family):
    """RainbowDQN: six improvements of DQN in one. Each can be switched off to measure its contribution."""

    # none of them is FIXED: the paper has results without each

    double = True
    dueling = True
    noisy = True
    exploration_type = "none"
    gamma = 0.99
    lr = 6.25e-5
    adam_epsilon = 1.5e-4
    batch_size = 32
    train_fre = 4
    target_update = 2000
    """Updates between two copies to the target network: 8,000 environment steps, at one update per 4 steps."""
    n_step = 3
    buffer_type = "PER"
    per_alpha = 0.5
