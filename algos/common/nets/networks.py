"""Networks from the layer lists of the configuration. A network takes the raw observation column [B, ...]."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

from algos.base import EnvSpec, Part
from algos.common.fast.layers import accelerate
from algos.common.nets import custom, layer_lists, own_layers, shared_layers
from algos.common.nets.chain import Chain
from algos.common.nets.encoder import Index, Join, NetworkError, Shape, encode, has_pixels, layout, part_space, values
from algos.common.nets.initial_weights import initialise
from algos.common.nets.layer_lists import OBSERVING
from algos.common.nets.layers import Features, Network, NoisyLinear, RandomZeros, Residual
from algos.common.nets.recurrent import CELLS, Gru, Lstm, Recurrent
from algos.common.nets.renorm import BatchRenorm
from algos.common.nets.shared_layers import Registry
from algos.common.settings import NetworkConfig
from config.model import layers as layer_settings
from config.model.layers import Conv2d, Dropout, Embed, Flatten, Layer, LayerNorm, Layers, Linear, Pooling
from config.own import objects as own

__all__ = ["Network", "NetworkError", "build", "features"]

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


def _window(chain: Chain, label: str, kernel: int, stride: int, padding: int = 0) -> Shape:
    """Returns height and width after a convolution or pooling."""
    if len(chain.shape) != 3:
        raise chain.error(label, "it needs an image (channels, height, width)")
    height, width = (side + 2 * padding for side in chain.shape[1:])
    if kernel > min(height, width):
        raise chain.error(label, f"the window {kernel} x {kernel} is larger than the image {height} x {width}")
    return (height - kernel) // stride + 1, (width - kernel) // stride + 1


def _linear(chain: Chain, layer: Linear) -> None:
    chain.flatten()
    for size in layer.layer_size:
        modules = nn.Linear(chain.shape[0], size), *ACTIVATIONS[layer.activation]()
        chain.grow(f"linear {size}", (size,), *modules)


def _noisy_linear(chain: Chain, layer: layer_settings.NoisyLinear) -> None:
    chain.flatten()
    for size in layer.layer_size:
        modules = NoisyLinear(chain.shape[0], size, layer.std_init), *ACTIVATIONS[layer.activation]()
        chain.grow(f"noisy_linear {size}", (size,), *modules)


def _cell(chain: Chain, layer: layer_settings.Lstm | layer_settings.Gru) -> None:
    chain.flatten()
    kind = Lstm if isinstance(layer, layer_settings.Lstm) else Gru
    for size in layer.layer_size:
        chain.grow(f"{layer.layer_type} {size}", (size,), kind(chain.shape[0], size))


def _conv2d(chain: Chain, layer: Conv2d) -> None:
    label = f"conv2d k{layer.kernel_size} s{layer.stride}" + (f" p{layer.padding}" if layer.padding else "")
    sides = _window(chain, label, layer.kernel_size, layer.stride, layer.padding)
    channels = chain.shape[0]
    if layer.in_channel not in (None, channels):
        raise chain.error(label, f"in_channel is {layer.in_channel}, but {channels} come in")
    convolution = nn.Conv2d(channels, layer.out_channel, layer.kernel_size, layer.stride, layer.padding)
    chain.grow(label, (layer.out_channel, *sides), convolution, *ACTIVATIONS[layer.activation]())


def _pooling(chain: Chain, layer: Pooling) -> None:
    label = f"{layer.pooling_type} k{layer.kernel_size} s{layer.stride}"
    sides = _window(chain, label, layer.kernel_size, layer.stride)
    pool = nn.MaxPool2d if layer.pooling_type == "max2d" else nn.AvgPool2d
    chain.grow(label, (chain.shape[0], *sides), pool(layer.kernel_size, layer.stride))


def _layernorm(chain: Chain, layer: LayerNorm) -> None:
    chain.grow("layernorm", chain.shape, nn.LayerNorm(chain.shape), *ACTIVATIONS[layer.activation]())


def _batchrenorm(chain: Chain, layer: layer_settings.BatchRenorm) -> None:
    chain.flatten()
    chain.grow("batchrenorm", chain.shape, BatchRenorm((1, *chain.shape), layer))


def _custom(chain: Chain, layer: layer_settings.Custom) -> None:
    label = f"custom {layer.module}"
    if own_layers.is_recurrent(layer):
        chain.flatten()
    try:
        module, shape = custom.made(own.find(layer.module), chain.shape, layer.options)
    except (own.OwnError, ValueError) as error:
        raise chain.error(label, str(error)) from error
    chain.grow(label, shape, module)


def _embed(chain: Chain, layer: Embed) -> None:
    raise chain.error("embed", "it can only be the first layer, and only for a Discrete observation")


ADD: dict[type, Callable[[Chain, Layer], None]] = {
    Linear: _linear,  # type: ignore[dict-item]
    layer_settings.NoisyLinear: _noisy_linear,  # type: ignore[dict-item]
    layer_settings.Lstm: _cell,  # type: ignore[dict-item]
    layer_settings.Gru: _cell,  # type: ignore[dict-item]
    Conv2d: _conv2d,  # type: ignore[dict-item]
    Pooling: _pooling,  # type: ignore[dict-item]
    Embed: _embed,  # type: ignore[dict-item]
    Flatten: lambda chain, layer: chain.flatten(),
    LayerNorm: _layernorm,  # type: ignore[dict-item]
    layer_settings.BatchRenorm: _batchrenorm,  # type: ignore[dict-item]
    layer_settings.Custom: _custom,  # type: ignore[dict-item]
    Dropout: lambda chain, layer: chain.grow("dropout", chain.shape, RandomZeros(layer.rate)),  # type: ignore[union-attr]
}


def _add(chain: Chain, layer: Layer, shared: Registry) -> None:
    start = len(chain.modules)
    ADD[type(layer)](chain, layer)
    shared_layers.share(chain, start, layer, shared)


def _add_layers(chain: Chain, layers: Layers, shared: Registry) -> None:
    for layer in layer_lists.with_convolutions(chain.shape, layers):
        _add(chain, layer, shared)


def simba_blocks(layers: Layers) -> tuple[list[int], str]:
    """Returns the sizes of the residual blocks that simba makes of these layers, and their activation."""
    linear = [layer for layer in layers if isinstance(layer, Linear)]
    if len(linear) != len(layers) or not linear:
        raise NetworkError("its list must end with linear layers and nothing between them; norms are built in")
    if shared_layers.any_in(layers):
        raise NetworkError("its blocks cannot be shared; share layers before the first linear one")
    if linear[0].activation == "none":
        raise NetworkError("its blocks need an activation such as relu, and the first linear layer has none")
    return [size for layer in linear for size in layer.layer_size], linear[0].activation


def _add_simba(chain: Chain, layers: Layers, shared: Registry) -> None:
    """Adds the layers before the first linear one as written, then a projection, one block per size and a final
    norm."""
    first = next((at for at, layer in enumerate(layers) if isinstance(layer, Linear)), len(layers))
    _add_layers(chain, layers[:first], shared)
    try:
        sizes, activation = simba_blocks(layers[first:])
    except NetworkError as error:
        raise chain.error("simba", str(error)) from None
    width = sizes[-1]
    chain.flatten()
    blocks = [Residual(width, *ACTIVATIONS[activation]()) for _ in sizes]
    projection = nn.Linear(chain.shape[0], width)
    chain.grow(f"simba {width} x {len(sizes)}", (width,), projection, *blocks, nn.LayerNorm(width))


@contextmanager
def named(cfg: NetworkConfig, layers: Layers) -> Iterator[None]:
    """Prefixes errors in this list with its setting, such as algo_cfg.actor_layers; branches do so themselves."""
    try:
        yield
    except NetworkError as error:
        setting = next((name for name in type(cfg).model_fields if getattr(cfg, name) is layers), None)
        if setting is None or str(error).startswith("algo_cfg."):
            raise
        raise NetworkError(f"algo_cfg.{setting}: {error}") from error


def _table(space: Discrete, layer: Embed, shared: Registry) -> Chain:
    """Returns a chain with an Embed layer on a Discrete observation."""
    rows = int(space.n)
    chain = Chain([Index(int(space.start))], (), f"Discrete({rows})")
    if layer.n_embeddings not in (None, rows):
        raise chain.error("embed", f"n_embeddings is {layer.n_embeddings}, but the observation has {rows} values")
    chain.grow("embed", (layer.embedding_dim,), nn.Embedding(rows, layer.embedding_dim))
    shared_layers.share(chain, 0, layer, shared)
    return chain


def _branch(space: Box, part: Part, layers: Layers | None, normalized: bool, shared: Registry) -> Chain:
    """Returns the chain from the columns of one part to its features."""
    before: list[nn.Module] = [] if normalized else values(space)
    if layers is None:
        return Chain(before, (part.stop - part.start,))
    order, shape = layout(space)
    unflatten = [nn.Unflatten(1, part.shape)] if len(part.shape) > 1 else []
    chain = Chain([*before, *unflatten, *order], shape, f"algo_cfg.branches.{part.name}: {shape}")
    _add_layers(chain, layers, shared)
    chain.flatten()
    return chain


def _joined(spec: EnvSpec, branches: dict[str, Layers], normalizer: nn.Module | None) -> Chain:
    """Returns the chain that passes each named part through its branch and concatenates all parts."""
    unknown = [name for name in branches if name not in {part.name for part in spec.parts}]
    if unknown:
        known = ", ".join(part.name for part in spec.parts) or "none, it is not a Dict or Tuple"
        reason = f"{', '.join(unknown)} is not a part of the observation; its parts are: {known}"
        raise NetworkError(f"algo_cfg.branches: {reason}")
    space, normalized = spec.observation_space, normalizer is not None
    assert isinstance(space, Box)
    chains = [
        _branch(part_space(space, *part[1:]), part, branches.get(part.name), normalized, spec.shared)
        for part in spec.parts
    ]
    join = Join([nn.Sequential(*chain.modules) for chain in chains], [(part.start, part.stop) for part in spec.parts])
    width = sum(chain.shape[0] for chain in chains)
    return Chain([*([normalizer] if normalizer else []), join], (width,), f"joined parts {(width,)}")


def _observed(spec: EnvSpec, layers: Layers, cfg: NetworkConfig, normalizer: nn.Module | None) -> tuple[Chain, Layers]:
    """Returns the chain that encodes the raw observation, and the layers still to be added."""
    space = spec.observation_space
    if layers and isinstance(layers[0], Embed) and isinstance(space, Discrete):
        return _table(space, layers[0], spec.shared), layers[1:]
    pixels = any(has_pixels(part_space(space, *part[1:])) for part in spec.parts)  # type: ignore[arg-type]
    if cfg.branches or pixels:
        return _joined(spec, cfg.branches or {}, normalizer), layers
    modules, shape = encode(space, normalizer)
    return Chain(modules, shape), layers


def build(
    spec: EnvSpec,
    layers: Layers,
    out: int | Callable[[Features], nn.Module],
    cfg: NetworkConfig,
    seed: int,
    *,
    init: str = "default",
    gain: float = 1.0,
    noise: float | None = None,
    split: bool = False,
    normalizer: nn.Module | None = None,
) -> "Network | Recurrent":
    """Returns the network from raw observations [B, ...] to [B, out], with initial weights that depend only on the
    seed. out may be a function that builds the output layer.

    init is the algorithm's own choice where cfg.init is default; gain is that of the output layer; noise is the size
    of that on the weights of the linear layers. With split, the last hidden layer is left to the streams of the output.
    """
    with torch.random.fork_rng(devices=[]), named(cfg, layers):
        torch.default_generator.manual_seed(seed)
        drawn = shared_layers.parts(spec.shared)  # other networks gave them their first weights
        chain, rest = _observed(spec, layers, cfg, normalizer)
        simba = cfg.architecture == "simba"
        rest = rest if noise is None else layer_lists.noisy(rest, noise)
        rest, last = layer_lists.before_last_hidden(rest) if split and not simba else (rest, [])
        if shared_layers.any_in(last):
            raise chain.error("shared", "the last linear layer of a dueling network is part of each stream")
        (_add_simba if simba else _add_layers)(chain, rest, spec.shared)
        chain.flatten()
        streams: list[nn.Module] = []

        def stream() -> tuple[list[nn.Module], int]:
            hidden = Chain([], chain.shape, chain.text)
            _add_layers(hidden, last, {})
            streams.extend(hidden.modules)
            return hidden.modules, hidden.shape[0]

        output = nn.Linear(chain.shape[0], out) if isinstance(out, int) else out(Features(chain.shape[0], stream))
        initialise([*chain.modules, *streams], output, init if cfg.init == "default" else cfg.init, gain, drawn)
    accelerate(*chain.modules, *streams)  # the output layer is small
    return assembled([*chain.modules, output])


def assembled(modules: list[nn.Module], agents: int = 1) -> "Network | Recurrent":
    """Returns one network, or with cells among the modules, stages with these between them."""
    stages: list[list[nn.Module]] = [[]]
    for module in modules:
        if isinstance(module, CELLS):
            stages += [[module], []]
        else:
            stages[-1].append(module)
    if len(stages) == 1:
        return Network(*modules)
    whole = [stage for stage in stages if stage]
    return Recurrent([stage[0] if isinstance(stage[0], CELLS) else Network(*stage) for stage in whole], agents)


def features(
    spec: EnvSpec, layers: Layers, cfg: NetworkConfig, normalizer: nn.Module | None
) -> tuple["Network | Recurrent", int, Layers]:
    """Returns the part of a network that sees only the observation, up to the last of OBSERVING; the number of features
    [B, width] it gives, and the layers from there on."""
    chain, rest = _observed(spec, layers, cfg, normalizer)
    rest = layer_lists.with_convolutions(chain.shape, rest)
    cut = max((index for index, layer in enumerate(rest, start=1) if isinstance(layer, OBSERVING)), default=0)
    for layer in rest[:cut]:
        _add(chain, layer, spec.shared)
    chain.flatten()
    return assembled(chain.modules), chain.shape[0], rest[cut:]
