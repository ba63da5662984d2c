"""Functions from layer lists to layer lists."""

from config import schema
from config.schema import Conv2d, Embed, Flatten, Layers, Linear, NoisyLinear, Pooling

OBSERVING = (Conv2d, Pooling, Flatten, Embed, schema.Lstm, schema.Gru, schema.Custom)
"""Layers that see the observation alone, before an action joins and before the streams of a dueling head part."""


def noisy(layers: Layers, std_init: float) -> Layers:
    """Returns the same layers with noise on the weights of the linear ones."""
    return [
        NoisyLinear(layer_size=layer.layer_size, activation=layer.activation, std_init=std_init)
        if isinstance(layer, Linear)
        else layer
        for layer in layers
    ]


def before_last_hidden(layers: Layers) -> tuple[Layers, Layers]:
    """Splits a list before its last fully connected layer. The second part is empty if none follows the last of the
    OBSERVING layers."""
    for index in reversed(range(len(layers))):
        layer = layers[index]
        if isinstance(layer, Linear | NoisyLinear):
            *before, last = (layer.model_copy(update={"layer_size": [size]}) for size in layer.layer_size)
            return [*layers[:index], *before], [last, *layers[index + 1 :]]
        if isinstance(layer, OBSERVING):
            break
    return layers, []
