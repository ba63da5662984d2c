"""DDPG: TD3 with one critic, no target policy smoothing and no policy delay."""

from algos.td3.config import Config as TD3
from config.model.inherit import fixed


class Config(TD3):
    """DDPG: a deterministic policy trained by the gradient of one critic."""

    n_critics = fixed(1)
    policy_noise = fixed(0.0)
    policy_freq = 1
    batch_size = 128
    exploration_type = "ou"
    expl_noise = 0.2
