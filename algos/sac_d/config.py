"""Defaults of SAC_D."""

from algos.common.settings import ActorCriticConfig, TargetConfig, TemperatureConfig
from config.model.fields import PositiveFraction
from config.model.schema import run


class Config(ActorCriticConfig, TargetConfig, TemperatureConfig):
    """SAC_D: maximum entropy actor-critic for discrete actions."""

    ACTION_SPACES = ("Discrete",)
    SPECIAL_LAYERS = ("lstm", "gru")
    RUN = run(steps=100_000, save=5000)
    READ_WITH = {"target_entropy_scale": ("target_entropy", (None,))}

    train_fre = 4
    updates_per_train = 2
    critic_lr = 3e-4
    target_entropy_scale: PositiveFraction = 0.5
    """Target entropy as a share of the maximum, the logarithm of the number of legal actions, if target_entropy is
    null."""
