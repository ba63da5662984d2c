"""Networks from the layer lists of the configuration. A network takes the raw observation column [B, ...]."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager

import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn

from algos.base import EnvSpec, Part
from algos.common.fast.layers import Network, accelerate
from algos.common.nets.chain import (
    ACTIVATIONS,
    NATURE,
    Chain,
    Registry,
    add_layer,
    add_layers,
    any_shared,
    share,
    shared_parts,
    with_convolutions,
)
from algos.common.nets.custom import Custom, CustomCell
from algos.common.nets.layers import Features, NoisyLinear, simba_block
from algos.common.nets.observations import Index, Join, NetworkError, encode, has_pixels, layout, part_space, values
from algos.common.nets.recurrent import CELLS, Recurrent
from algos.common.settings import NetworkConfig
from config.model import layers as layer_settings
from config.model.layers import Conv2d, Embed, Flatten, Layers, Linear, Parts, Pooling
from config.tell.language import tr

__all__ = ["Network", "NetworkError", "build", "features"]

OBSERVING = (
    Conv2d, Pooling, Flatten, Embed, layer_settings.ImpalaCnn, layer_settings.Lstm, layer_settings.Gru,
    layer_settings.Attention, layer_settings.Custom,
)  # fmt: skip
"""Layers that see the observation alone, before an action joins and before the streams of a dueling head part."""


def simba_blocks(layers: Layers) -> tuple[list[int], str]:
    """Returns the sizes of the residual blocks that simba makes of these layers, and their activation."""
    linear = [layer for layer in layers if isinstance(layer, Linear)]
    if any(isinstance(layer, layer_settings.NoisyLinear) for layer in layers):
        raise NetworkError("its blocks have no noise; choose architecture mlp, or an algorithm without noisy layers")
    if len(linear) != len(layers) or not linear:
        raise NetworkError("its list must end with linear layers and nothing between them; norms are built in")
    if any_shared(layers):
        raise NetworkError("its blocks cannot be shared; share layers before the first linear one")
    if linear[0].activation == "none":
        raise NetworkError("its blocks need an activation such as relu, and the first linear layer has none")
    return [size for layer in linear for size in layer.layer_size], linear[0].activation


def _add_simba(chain: Chain, layers: Layers, shared: Registry) -> None:
    """Adds the layers before the first linear one as written, then a projection, one block per size and a final
    norm."""
    block = Linear if any(isinstance(layer, Linear) for layer in layers) else layer_settings.NoisyLinear
    first = next((at for at, layer in enumerate(layers) if isinstance(layer, block)), len(layers))
    add_layers(chain, layers[:first], shared)
    try:
        sizes, activation = simba_blocks(layers[first:])
    except NetworkError as error:
        raise chain.error("simba", str(error)) from None
    width = sizes[-1]
    chain.flatten()
    blocks = [simba_block(width, *ACTIVATIONS[activation]()) for _ in sizes]
    projection = nn.Linear(chain.shape[0], width)
    chain.grow(f"simba {width} x {len(sizes)}", (width,), projection, *blocks, nn.LayerNorm(width))


def _noisy(layers: Layers, std_init: float) -> Layers:
    """Returns the same layers with noise on the weights of the linear ones, those of residual blocks too."""
    return [
        layer.model_copy(update={"layers": _noisy(layer.layers, std_init)})
        if isinstance(layer, layer_settings.Residual)
        else layer_settings.NoisyLinear(**layer.model_dump(exclude={"layer_type"}), std_init=std_init)
        if isinstance(layer, Linear)
        else layer
        for layer in layers
    ]


def before_last_hidden(layers: Layers) -> tuple[Layers, Layers]:
    """Splits a list before its last fully connected layer. The second part is empty if none follows the last of the
    OBSERVING layers."""
    for index in reversed(range(len(layers))):
        layer = layers[index]
        if isinstance(layer, Linear | layer_settings.NoisyLinear):
            *before, last = (layer.model_copy(update={"layer_size": [size]}) for size in layer.layer_size)
            return [*layers[:index], *before], [last, *layers[index + 1 :]]
        if isinstance(layer, OBSERVING):
            break
    return layers, []


def _kaiming_normal(weight: Tensor, gain: float) -> None:
    nn.init.kaiming_normal_(weight, nonlinearity="linear")
    with torch.no_grad():
        weight.mul_(gain)


# name -> (how a weight is drawn, gain of the layers before the output)
INITS: dict[str, tuple[Callable[[Tensor, float], object], float]] = {
    "orthogonal": (nn.init.orthogonal_, math.sqrt(2)),
    "xavier": (nn.init.xavier_uniform_, 1.0),
    "kaiming": (_kaiming_normal, math.sqrt(2)),
}


def initialize(
    hidden: list[nn.Module], output: nn.Module, init: str, output_gain: float, frozen: Set[nn.Module] = frozenset()
) -> None:
    """Draws the weights of linear and convolutional layers and sets their biases to 0; default leaves torch's, and
    custom layers and those in `frozen` keep their own. Hidden layers that are part of the output count as hidden."""
    if init == "default":
        return
    draw, hidden_gain = INITS[init]
    custom_layers = (part for module in hidden for part in module.modules() if isinstance(part, Custom | CustomCell))
    drawn = {part for layer in custom_layers for part in layer.modules()} | frozen
    for gain, modules in ((hidden_gain, hidden), (output_gain, [output])):
        for layer in (layer for module in modules for layer in module.modules()):
            if isinstance(layer, nn.Linear | nn.Conv2d | NoisyLinear) and layer not in drawn:
                drawn.add(layer)
                draw(layer.weight, gain)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


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
        reason = tr(
            "n_embeddings is {value}, but the observation has {count} values", value=layer.n_embeddings, count=rows
        )
        raise chain.error("embed", reason)
    chain.grow("embed", (layer.embedding_dim,), nn.Embedding(rows, layer.embedding_dim))
    share(chain, 0, layer, shared)
    return chain


def _branch(space: Box, part: Part, layers: Layers | None, normalized: bool, shared: Registry, large: Layers) -> Chain:
    """Returns the chain from the columns of one part to its features. large: default layers for large images."""
    before: list[nn.Module] = [] if normalized else values(space)
    if layers is None:
        return Chain(before, (part.stop - part.start,))
    order, shape = layout(space)
    unflatten = [nn.Unflatten(1, part.shape)] if len(part.shape) > 1 else []
    chain = Chain([*before, *unflatten, *order], shape, f"algo_cfg.branches.{part.name}: {shape}")
    add_layers(chain, with_convolutions(shape, layers, large), shared)
    chain.flatten()
    return chain


def _check_parts(spec: EnvSpec, names: Iterable[str], place: str) -> None:
    """Raises NetworkError if a name is not one of a part of the observation. place: begins the message."""
    unknown = [name for name in names if name not in {part.name for part in spec.parts}]
    if unknown:
        reason = tr(
            "{names} is not a part of the observation; its parts are: {parts}",
            names=", ".join(unknown),
            parts=", ".join(part.name for part in spec.parts) or tr("none, it is not a Dict or Tuple"),
        )
        raise NetworkError(f"{place}{reason}")


def _joined(
    spec: EnvSpec, cfg: NetworkConfig, normalizer: nn.Module | None, names: Sequence[str] | None = None
) -> Chain:
    """Returns the chain that passes each named part through its branch and concatenates them. names: of the parts that
    this network sees; None: all."""
    branches = cfg.branches or {}
    _check_parts(spec, branches, "algo_cfg.branches: ")
    _check_parts(spec, names or (), "parts: ")
    parts = [part for part in spec.parts if names is None or part.name in names]
    space, normalized = spec.observation_space, normalizer is not None
    assert isinstance(space, Box)
    large = cfg.LARGE_IMAGES or NATURE
    chains = [
        _branch(part_space(space, *part[1:]), part, branches.get(part.name), normalized, spec.shared, large)
        for part in parts
    ]
    join = Join([nn.Sequential(*chain.modules) for chain in chains], [(part.start, part.stop) for part in parts])
    width = sum(chain.shape[0] for chain in chains)
    return Chain([*([normalizer] if normalizer else []), join], (width,), tr("joined parts {shape}", shape=(width,)))


def _observed(spec: EnvSpec, layers: Layers, cfg: NetworkConfig, normalizer: nn.Module | None) -> tuple[Chain, Layers]:
    """Returns the chain that encodes the raw observation, and the layers still to be added: for an image after default
    convolutions if they have none."""
    space = spec.observation_space
    if layers and isinstance(layers[0], Embed) and isinstance(space, Discrete):
        return _table(space, layers[0], spec.shared), layers[1:]
    if layers and isinstance(layers[0], Parts):
        return _joined(spec, cfg, normalizer, layers[0].names), layers[1:]
    pixels = any(has_pixels(part_space(space, *part[1:])) for part in spec.parts)  # type: ignore[arg-type]
    if cfg.branches or pixels:
        return _joined(spec, cfg, normalizer), layers
    modules, shape = encode(space, normalizer)
    return Chain(modules, shape), with_convolutions(shape, layers, cfg.LARGE_IMAGES or NATURE)


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
        drawn = shared_parts(spec.shared)  # other networks gave them their first weights
        chain, remaining = _observed(spec, layers, cfg, normalizer)
        simba = cfg.architecture == "simba"
        remaining = remaining if noise is None else _noisy(remaining, noise)
        remaining, last = before_last_hidden(remaining) if split and not simba else (remaining, [])
        if any_shared(last):
            raise chain.error("shared", tr("the last linear layer of a dueling network is part of each stream"))
        (_add_simba if simba else add_layers)(chain, remaining, spec.shared)
        chain.flatten()
        streams: list[nn.Module] = []

        def stream() -> tuple[list[nn.Module], int]:
            hidden = Chain([], chain.shape, chain.text)
            add_layers(hidden, last, {})
            streams.extend(hidden.modules)
            return hidden.modules, hidden.shape[0]

        output = nn.Linear(chain.shape[0], out) if isinstance(out, int) else out(Features(chain.shape[0], stream))
        initialize([*chain.modules, *streams], output, init if cfg.init == "default" else cfg.init, gain, drawn)
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
    chain, remaining = _observed(spec, layers, cfg, normalizer)
    cut = max((index for index, layer in enumerate(remaining, start=1) if isinstance(layer, OBSERVING)), default=0)
    for layer in remaining[:cut]:
        add_layer(chain, layer, spec.shared)
    chain.flatten()
    return assembled(chain.modules), chain.shape[0], remaining[cut:]
