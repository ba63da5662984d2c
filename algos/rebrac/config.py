"""Defaults of ReBRAC: TD3's, except for these."""

from algos.td3.config import Config as Family
from config.model.layers import LayerNorm, Layers, Linear, mlp


def normalized(*sizes: int) -> Layers:
    """Returns linear layers, each followed by relu and a layer normalization."""
    return [layer for size in sizes for layer in (Linear(layer_size=[size]), LayerNorm())]


class Config(Family):
    """ReBRAC: TD3 on given data, whose policy and whose target actions stay close to the actions of the data."""

    OFFLINE = True
    RUN = {}

    actor_layers = mlp(256, 256, 256)
    critic_layers = normalized(256, 256, 256)
    actor_lr = 1e-3
    critic_lr = 1e-3
    batch_size = 1024
    bc_actor = 0.01
    bc_critic = 0.01
