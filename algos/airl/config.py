"""Defaults of AIRL: PPO's, and a discriminator from which a reward function can be read."""

from algos.gail.config import DiscriminatorConfig
from algos.ppo.config import Config as Family
from config.model.inherit import fixed


class Config(DiscriminatorConfig, Family):
    """AIRL: PPO whose rewards come from a discriminator that holds a reward function and its shaping."""

    SPECIAL_LAYERS = ()

    shaping = fixed(True)
    imitation_reward = fixed("log_odds")
    bonus = fixed("none")
    lr = 3e-4
    lr_schedule = "constant"
    sgd_batch_size = 64
    k_epochs = 10
    normalize_obs = False
