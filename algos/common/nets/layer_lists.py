"""Functions from layer lists to layer lists."""

from config.model import layers as layer_settings
from config.model.layers import Conv2d, Embed, Flatten, Layers, Linear, NoisyLinear, Pooling

OBSERVING = (Conv2d, Pooling, Flatten, Embed, layer_settings.Lstm, layer_settings.Gru, layer_settings.Custom)
"""Layers that see the observation alone, before an action joins and before the streams of a dueling head part."""

LARGE_IMAGE = 36  # the smallest side on which the three convolutions of Nature DQN fit
SMALL_IMAGE = 5  # the same for the two of the small network

NATURE = [
    Conv2d(out_channel=32, kernel_size=8, stride=4),
    Conv2d(out_channel=64, kernel_size=4, stride=2),
    Conv2d(out_channel=64, kernel_size=3, stride=1),
]
SMALL = [Conv2d(out_channel=16, kernel_size=3, stride=1), Conv2d(out_channel=32, kernel_size=3, stride=2)]


def with_convolutions(shape: tuple[int, ...], layers: Layers) -> Layers:
    """Returns the list, preceded by a default convolutional network for an image, unless the list has a conv2d layer or
    begins with a flatten or custom one."""
    plain = layers and isinstance(layers[0], Flatten | layer_settings.Custom)
    if len(shape) != 3 or plain or any(isinstance(layer, Conv2d) for layer in layers):
        return layers
    side = min(shape[1:])
    front = NATURE if side >= LARGE_IMAGE else SMALL if side >= SMALL_IMAGE else []
    return [*front, *layers]


def noisy(layers: Layers, std_init: float) -> Layers:
    """Returns the same layers with noise on the weights of the linear ones."""
    return [
        NoisyLinear(layer_size=layer.layer_size, activation=layer.activation, std_init=std_init, shared=layer.shared)
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
