"""DroQ: SAC whose two critics have dropout and layer normalization, with five updates per step."""

from algos.sac.config import Config as SAC
from config.model.layers import Dropout, LayerNorm, Layers, Linear
from config.model.schema import run


def dropout_layers(*sizes: int, rate: float = 0.01) -> Layers:
    """Returns for each size: linear, dropout, layer normalization, relu."""
    blocks: list[Layers] = [
        [Linear(layer_size=[size], activation="none"), Dropout(rate=rate), LayerNorm(activation="relu")]
        for size in sizes
    ]
    return [layer for block in blocks for layer in block]


class Config(SAC):
    """DroQ: SAC with dropout and layer normalization in two critics in place of a large ensemble, and many updates per
    step."""

    RUN = run(steps=50_000, save=10_000)

    critic_layers = dropout_layers(256, 256)
    actor_value = "mean"
    updates_per_train = 5
    policy_freq = 5
