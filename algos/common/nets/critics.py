"""Ensembles of critics Q_1 .. Q_n, computed together: each layer is one batched matrix product [n, B, D]."""

import math

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from algos.base import Agent, EnvSpec
from algos.common.fast import layers as fast
from algos.common.fast import tensors
from algos.common.fast.layers import Network
from algos.common.nets import networks
from algos.common.nets.chain import ACTIVATIONS, any_shared, apart, check_block, shared_parts
from algos.common.nets.layers import BatchNorm, BatchRenorm, RandomZeros, Residual, RmsNorm
from algos.common.nets.networks import INITS
from algos.common.nets.observations import NetworkError
from algos.common.nets.recurrent import Observed, Recurrent
from algos.common.parts.passes import outputs_of, outputs_of_both
from algos.common.settings import NetworkConfig
from config.model import layers as layer_settings
from config.model.layers import Dropout, Layer, LayerNorm, Layers, Linear


class EnsembleLinear(nn.Module):
    """[B, in] or [n, B, in] -> [n, B, out], each member with its own weights, initialized as torch's Linear."""

    bias: nn.Parameter | None

    def __init__(self, members: int, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        bound = 1.0 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(members, inputs, outputs).uniform_(-bound, bound))
        drawn = nn.Parameter(torch.empty(members, 1, outputs).uniform_(-bound, bound)) if bias else None
        self.register_parameter("bias", drawn)

    def forward(self, x: Tensor) -> Tensor:
        return fast.ensemble(self.bias, x.expand(self.weight.shape[0], -1, -1), self.weight)


class EnsembleNorm(nn.Module):
    """Layer normalization of [n, B, D] (or [B, D]), each member with its own scale and shift."""

    def __init__(self, members: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(members, 1, width))
        self.bias = nn.Parameter(torch.zeros(members, 1, width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addcmul(self.bias, F.layer_norm(x, x.shape[-1:]), self.weight)


def _simba_block(members: int, width: int, activation: str) -> Residual:
    """Returns a block of SimBa (Lee et al., 2024)."""
    expand, reduce = EnsembleLinear(members, width, 4 * width), EnsembleLinear(members, 4 * width, width)
    return Residual(EnsembleNorm(members, width), expand, *_activation(activation), reduce)


class Critic(nn.Module):
    """Ensemble of critics: observations [B, ...] and actions [B, A], or [n, B, A] of each, -> [n, B, out]. The layers
    before the action is concatenated (convolutions, branches, recurrent layers, whose state is named `critic`) are
    shared by the members."""

    def __init__(self, front: Network | Recurrent, body: Network) -> None:
        super().__init__()
        self.front, self.body = front, body

    def forward(self, obs: Observed, action: Tensor | None = None) -> Tensor:
        features = outputs_of(self.front, obs, "critic")
        if action is None:
            return self.body(features)
        if action.ndim > features.ndim:  # an action for each critic
            features = features.expand(len(action), -1, -1)
        return self.body(torch.cat([features, action], -1))

    def first(self, obs: Observed, action: Tensor) -> Tensor:
        """Returns [1, B, out] of the first member alone. A loss of its values alone would take as long for each of the
        others, and for their gradients, which are zero."""
        if len(next(self.body.parameters())) == 1:
            return self(obs, action)
        features = outputs_of(self.front, obs, "critic")
        member = {name: x[:1] for name, x in self.body.state_dict(keep_vars=True).items()}
        return functional_call(self.body, member, torch.cat([features, action], -1))

    def with_successors(self, obs: Observed, next_obs: Observed, action: Tensor) -> Tensor:
        """Returns [n, 2 B, out] for observations followed by their successors, from one pass; actions [2 B, A]."""
        features = outputs_of_both(self.front, obs, next_obs, "critic")
        return self.body(torch.cat([features, action], 1))


def _activation(name: str) -> list[nn.Module]:
    return [nn.Softmax(dim=-1)] if name == "softmax" else ACTIVATIONS[name]()


def _layer(layer: Layer, members: int, width: int) -> tuple[list[nn.Module], int]:
    """Returns the modules of a layer for inputs of this width, and their output width."""
    match layer:
        case Linear():
            modules: list[nn.Module] = []
            for size in layer.layer_size:
                modules += [EnsembleLinear(members, width, size, layer.bias), *_activation(layer.activation)]
                width = size
            return modules, width
        case LayerNorm():
            return [EnsembleNorm(members, width), *_activation(layer.activation)], width
        case layer_settings.RmsNorm():
            return [RmsNorm((members, 1, width)), *_activation(layer.activation)], width
        case layer_settings.BatchNorm():
            return [BatchNorm((members, 1, width), layer), *_activation(layer.activation)], width
        case layer_settings.Function():
            return apart(_activation(layer.activation)), width
        case layer_settings.Residual():
            return _residual(layer, members, width), width
        case layer_settings.BatchRenorm():
            return [BatchRenorm((members, 1, width), layer)], width
        case Dropout():
            return [RandomZeros(layer.rate)], width
    raise NetworkError("{kind} is not allowed after the action is concatenated", kind=layer.layer_type)


def _residual(layer: layer_settings.Residual, members: int, width: int) -> list[nn.Module]:
    """Returns a residual block for inputs of this width."""
    check_block(layer.layers)
    body, after = _plain(layer.layers, members, width)
    if after != width:
        raise NetworkError("its layers make {after} of {before}, and a block keeps the shape", after=after,
                              before=width)  # fmt: skip
    return [Residual(*body)]


def _plain(layers: Layers, members: int, width: int) -> tuple[list[nn.Module], int]:
    modules: list[nn.Module] = []
    for layer in layers:
        more, width = _layer(layer, members, width)
        modules += more
    return modules, width


def _simba(layers: Layers, members: int, width: int) -> tuple[list[nn.Module], int]:
    """Returns a projection, one residual block per size and a final norm, and their output width."""
    try:
        sizes, activation = networks.simba_blocks(layers)
    except NetworkError as error:
        raise NetworkError(f"simba: {error}") from None
    blocks = [_simba_block(members, sizes[-1], activation) for _ in sizes]
    return [EnsembleLinear(members, width, sizes[-1]), *blocks, EnsembleNorm(members, sizes[-1])], sizes[-1]


def _initialize(body: Network, output: EnsembleLinear, init: str) -> None:
    """Initializes weights and zeroes biases; default keeps them."""
    if init == "default":
        return
    draw, hidden_gain = INITS[init]
    for layer in [module for module in body.modules() if isinstance(module, EnsembleLinear)]:
        for weight in layer.weight.detach():
            draw(weight.T, 1.0 if layer is output else hidden_gain)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def build(
    spec: EnvSpec,
    layers: Layers,
    cfg: NetworkConfig,
    seed: int,
    *,
    members: int,
    actions: int,
    out: int = 1,
    normalizer: nn.Module | None = None,
) -> Critic:
    """Returns critics from a layer list, with initial weights that depend only on the seed. An action of `actions`
    numbers is concatenated to the features before the first linear layer; with 0 the critics see the observation
    alone."""
    with torch.random.fork_rng(devices=[]), networks.named(cfg, layers):
        torch.default_generator.manual_seed(seed)
        drawn = shared_parts(spec.shared)  # other networks gave them their first weights
        front, width, remaining = networks.features(spec, layers, cfg, normalizer)
        if any_shared(remaining):
            raise NetworkError("the layers behind the action belong to each critic, and cannot be shared")
        assemble = _simba if cfg.architecture == "simba" else _plain
        modules, width = assemble(remaining, members, width + actions)
        output = EnsembleLinear(members, width, out)
        body = Network(*modules, output)
        networks.initialize([front], nn.Identity(), cfg.init, 1.0, drawn)
        _initialize(body, output, cfg.init)
    fast.accelerate(front, body)
    return Critic(front, body)


def of_agent(agent: Agent, at: int, layers: Layers, actions: int, out: int = 1, members: int = 1) -> Critic:
    """Returns critics, or another network from observations and `actions` numbers to [members, B, out], of an agent
    with one normalizer of observations. at: number that the seed of the weights is above the agent's."""
    seed, normalizer = agent.streams.init + at, agent.normalizer
    built = build(agent.spec, layers, agent.cfg, seed, members=members, actions=actions, out=out, normalizer=normalizer)
    return built.to(agent.device)


@torch.no_grad()
def set_bias(critic: Critic, bias: Tensor) -> None:
    """Sets the biases of the output layer of every member to these [out]."""
    output = critic.body[-1]
    assert isinstance(output, EnsembleLinear)
    assert output.bias is not None
    output.bias.copy_(bias.expand_as(output.bias))


def repeated(obs: Tensor, count: int) -> Tensor:
    """Returns all observations [B, ...] `count` times over, [count * B, ...]."""
    return obs.repeat(count, *[1] * (obs.ndim - 1))


@torch.no_grad()
def copy_members(subset: Critic, ensemble: Critic, members: Tensor) -> None:
    """Copies the weights of these members of the ensemble to the subset, which shares its front."""
    chosen = [parameter.index_select(0, members) for parameter in ensemble.body.parameters()]
    tensors.copy(list(subset.body.parameters()), chosen)
