"""Defaults of GAIL: PPO's, and a discriminator."""

from algos.common.imitation_settings import DiscriminatorConfig
from algos.ppo.config import Config as Family
from config.model.inherit import fixed


class Config(DiscriminatorConfig, Family):
    """GAIL: PPO whose rewards come from a discriminator between given data and its own steps."""

    SPECIAL_LAYERS = ()

    shaping = fixed(False)
    lr = 3e-4
    lr_schedule = "constant"
    sgd_batch_size = 64
    k_epochs = 10
    normalize_obs = False
