"""A list of modules under construction: what each kind of layer of the settings adds to it, and layers that several
networks share."""

import math
from collections.abc import Callable
from typing import Any

from torch import nn

from algos.common.nets import custom
from algos.common.nets.layers import (
    BatchNorm,
    BatchRenorm,
    Detach,
    NoisyLinear,
    RandomZeros,
    Residual,
    RmsNorm,
    SpectralConv2d,
)
from algos.common.nets.observations import NetworkError, Shape
from algos.common.nets.recurrent import Attention, Gru, Lstm
from config import machine
from config.model import layers as layer_settings
from config.model.layers import (
    Conv2d,
    Dropout,
    Embed,
    Flatten,
    Layer,
    LayerNorm,
    Layers,
    Linear,
    Pooling,
    is_recurrent,
)
from config.own import objects as own
from config.tell.language import tr

ACTIVATIONS: dict[str, Callable[[], list[nn.Module]]] = {
    "relu": lambda: [nn.ReLU(inplace=True)],
    "tanh": lambda: [nn.Tanh()],
    "sigmoid": lambda: [nn.Sigmoid()],
    "softmax": lambda: [nn.Softmax(dim=1)],
    "leakyrelu": lambda: [nn.LeakyReLU()],
    "gelu": lambda: [nn.GELU()],
    "silu": lambda: [nn.SiLU()],
    "elu": lambda: [nn.ELU()],
    "none": lambda: [],
}


MANY_WEIGHTS = 2**26
"""Weights of a layer from which on the memory of the machine is asked for."""
TRAINED_COPIES, BYTES = 4, 4
"""Copies of a weight while it is trained by Adam: itself, its gradient and two moments; and the bytes of each."""


class Chain:
    """Modules so far, with the shape of their output and a description for error messages."""

    def __init__(self, modules: list[nn.Module], shape: Shape, text: str | None = None) -> None:
        self.modules, self.shape, self.text = modules, shape, text or str(shape)

    def grow(self, label: str, shape: Shape, *modules: nn.Module) -> None:
        self.modules.extend(modules)
        self.shape = shape
        self.text += f" -{label}-> {shape}"

    def flatten(self) -> None:
        if len(self.shape) > 1:
            self.grow("flatten", (math.prod(self.shape),), nn.Flatten())

    def error(self, label: str, reason: str) -> NetworkError:
        step = f"{self.text} -{label}->"
        return NetworkError("{step} does not fit: {reason}", step=step, reason=reason)


# layers ---------------------------------------------------------------------------------------------------


def _image(chain: Chain, label: str) -> None:
    """Raises NetworkError if a layer does not see an image."""
    if len(chain.shape) != 3:
        raise chain.error(label, tr("it needs an image (channels, height, width)"))


def _window(chain: Chain, label: str, kernel: int, stride: int, padding: int = 0) -> Shape:
    """Returns height and width after a convolution or pooling."""
    _image(chain, label)
    height, width = (side + 2 * padding for side in chain.shape[1:])
    if kernel > min(height, width):
        window, image = f"{kernel} x {kernel}", f"{height} x {width}"
        raise chain.error(label, tr("the window {window} is larger than the image {image}", window=window, image=image))
    return (height - kernel) // stride + 1, (width - kernel) // stride + 1


def _check_room(chain: Chain, label: str, size: int) -> None:
    """Raises NetworkError if the memory of this machine does not hold the weights of a layer as training does."""
    weights, free = chain.shape[0] * size, machine.available_bytes()
    needed = TRAINED_COPIES * BYTES * weights
    if free is not None and needed > free:
        reason = tr(
            "its {weights:,} weights need {needed:,.1f} GiB with their gradients and what the optimizer keeps, and "
            "this machine has {free:,.1f} GiB free; a smaller layer needs less, and for a Discrete observation so does "
            "an embed layer of a few numbers before it",
            weights=weights,
            needed=needed / 2**30,
            free=free / 2**30,
        )
        raise chain.error(label, reason)


def _linear(chain: Chain, layer: Linear) -> None:
    chain.flatten()
    for size in layer.layer_size:
        if chain.shape[0] * size >= MANY_WEIGHTS:
            _check_room(chain, f"linear {size}", size)
        modules = nn.Linear(chain.shape[0], size, layer.bias), *ACTIVATIONS[layer.activation]()
        chain.grow(f"linear {size}", (size,), *modules)


def _noisy_linear(chain: Chain, layer: layer_settings.NoisyLinear) -> None:
    chain.flatten()
    for size in layer.layer_size:
        modules = NoisyLinear(chain.shape[0], size, layer.std_init, layer.bias), *ACTIVATIONS[layer.activation]()
        chain.grow(f"noisy_linear {size}", (size,), *modules)


def _cell(chain: Chain, layer: layer_settings.Lstm | layer_settings.Gru) -> None:
    chain.flatten()
    kind = Lstm if isinstance(layer, layer_settings.Lstm) else Gru
    for size in layer.layer_size:
        chain.grow(f"{layer.layer_type} {size}", (size,), kind(chain.shape[0], size))


def _attention(chain: Chain, layer: layer_settings.Attention) -> None:
    chain.flatten()
    for size in layer.layer_size:
        cell = Attention(chain.shape[0], size, layer.window, layer.heads)
        chain.grow(f"attention {size}", (size,), cell)


def _conv2d(chain: Chain, layer: Conv2d) -> None:
    label = f"conv2d k{layer.kernel_size} s{layer.stride}" + (f" p{layer.padding}" if layer.padding else "")
    sides = _window(chain, label, layer.kernel_size, layer.stride, layer.padding)
    channels = chain.shape[0]
    if layer.in_channel not in (None, channels):
        reason = tr("in_channel is {value}, but {channels} come in", value=layer.in_channel, channels=channels)
        raise chain.error(label, reason)
    kind = SpectralConv2d if layer.spectral_norm else nn.Conv2d
    convolution = kind(channels, layer.out_channel, layer.kernel_size, layer.stride, layer.padding)
    chain.grow(label, (layer.out_channel, *sides), convolution, *ACTIVATIONS[layer.activation]())


def _pooling(chain: Chain, layer: Pooling) -> None:
    largest = layer.pooling_type == "max2d"
    if layer.output_size is not None:
        label, side = f"{layer.pooling_type} to {layer.output_size}", layer.output_size
        _image(chain, label)
        module = nn.AdaptiveMaxPool2d(side) if largest else nn.AdaptiveAvgPool2d(side)
        return chain.grow(label, (chain.shape[0], side, side), module)
    label = f"{layer.pooling_type} k{layer.kernel_size} s{layer.stride}"
    if 2 * layer.padding > layer.kernel_size:
        raise chain.error(label, tr("padding is {value}, more than half of the window", value=layer.padding))
    sides = _window(chain, label, layer.kernel_size, layer.stride, layer.padding)
    pool = nn.MaxPool2d if largest else nn.AvgPool2d
    return chain.grow(label, (chain.shape[0], *sides), pool(layer.kernel_size, layer.stride, layer.padding))


def _layernorm(chain: Chain, layer: LayerNorm) -> None:
    chain.grow("layernorm", chain.shape, nn.LayerNorm(chain.shape), *ACTIVATIONS[layer.activation]())


def _rmsnorm(chain: Chain, layer: layer_settings.RmsNorm) -> None:
    chain.flatten()
    chain.grow("rmsnorm", chain.shape, RmsNorm(chain.shape), *ACTIVATIONS[layer.activation]())


def _batchnorm(chain: Chain, layer: layer_settings.BatchNorm) -> None:
    chain.flatten()
    modules = BatchNorm((1, *chain.shape), layer), *ACTIVATIONS[layer.activation]()
    chain.grow("batchnorm", chain.shape, *modules)


def _function(chain: Chain, layer: layer_settings.Function) -> None:
    chain.grow(layer.activation, chain.shape, *apart(ACTIVATIONS[layer.activation]()))


def apart(modules: list[nn.Module]) -> list[nn.Module]:
    """Returns the modules of an activation that leave their input as it is: others may read it too."""
    return [nn.ReLU() if isinstance(module, nn.ReLU) else module for module in modules]


IN_A_BLOCK = (
    Linear, Conv2d, Pooling, LayerNorm, layer_settings.RmsNorm, layer_settings.BatchNorm, layer_settings.BatchRenorm,
    layer_settings.Function, layer_settings.Residual, layer_settings.NoisyLinear, Dropout,
)  # fmt: skip
"""Layers that a residual block may have."""


def check_block(layers: Layers) -> None:
    """Raises NetworkError if a residual block cannot have these layers."""
    for layer in layers:
        if not isinstance(layer, IN_A_BLOCK):
            raise NetworkError("a residual block cannot have a layer of type {kind}", kind=layer.layer_type)
        if shared_name(layer):
            raise NetworkError("layers of a residual block cannot be shared")


def _residual(chain: Chain, layer: layer_settings.Residual) -> None:
    try:
        check_block(layer.layers)
    except NetworkError as error:
        raise chain.error("residual", str(error)) from None
    body = Chain([], chain.shape, chain.text)
    for part in layer.layers:
        ADD[type(part)](body, part)
    if body.shape != chain.shape:
        reason = tr("its layers make {after} of {before}, and a block keeps the shape", after=body.shape,
                    before=chain.shape)  # fmt: skip
        raise chain.error("residual", reason)
    chain.grow("residual", chain.shape, Residual(*body.modules))


def impala_stages(layer: layer_settings.ImpalaCnn) -> Layers:
    """Returns the residual network of IMPALA (Espeholt et al., 2018, figure 3) as single layers."""
    same: dict[str, Any] = {"kernel_size": 3, "stride": 1, "padding": 1, "activation": "none"}
    layers: Layers = []
    for channels in layer.channels:
        inner = Conv2d(out_channel=channels, **same, spectral_norm=layer.spectral_norm)
        block = layer_settings.Residual(layers=[layer_settings.Function(), inner] * 2)
        pool = Pooling(kernel_size=3, stride=2, padding=1)
        layers += [Conv2d(out_channel=channels, **same), pool, block, block]
    return [*layers, layer_settings.Function()]


def _impala(chain: Chain, layer: layer_settings.ImpalaCnn) -> None:
    _image(chain, "impala_cnn")
    for part in impala_stages(layer):
        ADD[type(part)](chain, part)


def _batchrenorm(chain: Chain, layer: layer_settings.BatchRenorm) -> None:
    chain.flatten()
    chain.grow("batchrenorm", chain.shape, BatchRenorm((1, *chain.shape), layer))


def _custom(chain: Chain, layer: layer_settings.Custom) -> None:
    label = f"custom {layer.module}"
    if is_recurrent(layer):
        chain.flatten()
    try:
        module, shape = custom.layer_for(own.find(layer.module), chain.shape, layer.options)
    except (own.OwnError, ValueError) as error:
        raise chain.error(label, str(error)) from error
    chain.grow(label, shape, module)


def _parts(chain: Chain, layer: layer_settings.Parts) -> None:
    raise chain.error("parts", tr("it can only be the first layer"))


def _embed(chain: Chain, layer: Embed) -> None:
    raise chain.error("embed", tr("it can only be the first layer, and only for a Discrete observation"))


# layers that several networks share, by the name that the setting `shared` of a layer gives -----------------

Registry = dict[str, nn.Module]
"""Modules with weights of each shared layer, by its name (EnvSpec.shared)."""


def shared_name(layer: Layer) -> str | None:
    """Returns the name under which the weights of a layer are shared; None if they are its own."""
    return getattr(layer, "shared", None)


def any_shared(layers: Layers) -> bool:
    """Returns True if one of the layers is shared."""
    return any(shared_name(layer) for layer in layers)


def share(chain: Chain, start: int, layer: Layer, registry: Registry) -> None:
    """Replaces the modules that a shared layer has added to a chain, from number `start` on, by those of the first
    network that used its name. Modules without weights stay."""
    name = shared_name(layer)
    if name is None:
        return
    places = [at for at in range(start, len(chain.modules)) if chain.modules[at].state_dict()]
    modules = nn.ModuleList(chain.modules[at] for at in places)
    first = registry.setdefault(name, modules)
    if _shapes(first) != _shapes(modules):
        reason = tr(
            "the layer shared as {name} has {other} in another network, and {shapes} here",
            name=name,
            other=_shapes(first),
            shapes=_shapes(modules),
        )
        raise chain.error(layer.layer_type, reason)
    for at, module in zip(places, first.children(), strict=True):
        chain.modules[at] = module
    if getattr(layer, "frozen", False):
        chain.modules.append(Detach(first.parameters()))


def _shapes(modules: nn.Module) -> str:
    """Returns the types of modules and the shapes of their weights, as text."""
    return ", ".join(
        f"{type(module).__name__} {' and '.join(str(tuple(weight.shape)) for weight in module.state_dict().values())}"
        for module in modules.children()
    )


def shared_parts(registry: Registry) -> set[nn.Module]:
    """Returns all modules within the shared layers so far."""
    return {part for module in registry.values() for part in module.modules()}


# lists of layers ------------------------------------------------------------------------------------------

LARGE_IMAGE = 36  # the smallest side on which the three convolutions of Nature DQN fit
SMALL_IMAGE = 5  # the same for the two of the small network

NATURE: Layers = [
    Conv2d(out_channel=32, kernel_size=8, stride=4),
    Conv2d(out_channel=64, kernel_size=4, stride=2),
    Conv2d(out_channel=64, kernel_size=3, stride=1),
]
SMALL: Layers = [Conv2d(out_channel=16, kernel_size=3, stride=1), Conv2d(out_channel=32, kernel_size=3, stride=2)]


def with_convolutions(shape: tuple[int, ...], layers: Layers, large: Layers = NATURE) -> Layers:
    """Returns the list, preceded by a default convolutional network for an image, unless the list has a conv2d or
    impala_cnn layer or begins with a flatten or custom one. large: that for large images."""
    plain = layers and isinstance(layers[0], Flatten | layer_settings.Custom)
    if len(shape) != 3 or plain or any(isinstance(layer, Conv2d | layer_settings.ImpalaCnn) for layer in layers):
        return layers
    side = min(shape[1:])
    front = large if side >= LARGE_IMAGE else SMALL if side >= SMALL_IMAGE else []
    return [*front, *layers]


ADD: dict[type, Callable[[Chain, Any], None]] = {
    Linear: _linear,
    layer_settings.NoisyLinear: _noisy_linear,
    layer_settings.Lstm: _cell,
    layer_settings.Gru: _cell,
    layer_settings.Attention: _attention,
    Conv2d: _conv2d,
    Pooling: _pooling,
    Embed: _embed,
    layer_settings.Parts: _parts,
    Flatten: lambda chain, layer: chain.flatten(),
    LayerNorm: _layernorm,
    layer_settings.RmsNorm: _rmsnorm,
    layer_settings.BatchNorm: _batchnorm,
    layer_settings.BatchRenorm: _batchrenorm,
    layer_settings.Function: _function,
    layer_settings.Residual: _residual,
    layer_settings.ImpalaCnn: _impala,
    layer_settings.Custom: _custom,
    Dropout: lambda chain, layer: chain.grow("dropout", chain.shape, RandomZeros(layer.rate)),
}


def add_layer(chain: Chain, layer: Layer, shared: Registry) -> None:
    """Adds the modules of a layer; of a shared one those that it has already."""
    start = len(chain.modules)
    ADD[type(layer)](chain, layer)
    share(chain, start, layer, shared)


def add_layers(chain: Chain, layers: Layers, shared: Registry) -> None:
    """Adds the modules of all layers."""
    for layer in layers:
        add_layer(chain, layer, shared)
