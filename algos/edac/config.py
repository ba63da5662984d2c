"""Defaults of EDAC: SAC's, except for these."""

from algos.sac.config import Config as Family
from config.model.layers import mlp


class Config(Family):
    """EDAC: SAC on given data, with the minimum of many critics, whose gradients are kept apart."""

    OFFLINE = True
    RUN = {}

    actor_layers = mlp(256, 256, 256)
    critic_layers = mlp(256, 256, 256)
    n_critics = 10
    target_critics = None
    diversity = 1.0
