"""Networks for a few observations, computed by numpy: torch takes longer to start a layer than to compute it.

What this gains is in docs/speed.md. The numbers are those of torch up to rounding; learning is torch's alone.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from algos.common.fast import kernels, switch
from algos.common.fast.layers import Linear, Network, Tanh
from algos.common.maths.gaussian import LogStd
from algos.common.maths.returns import LIMIT
from algos.common.nets.observations import Normalizer, ToFloat
from config.model.arrays import Array

Step = Callable[[Array], Array]
"""[N, ...] -> [N, ...]; the argument stays as it is."""


def _view(tensor: Tensor) -> Array:
    """Returns an array that shares the memory of the tensor, and so has its later values too."""
    view: Array = tensor.detach().numpy()
    return view


def _linear(layer: nn.Linear) -> Step:
    weight, bias = _view(layer.weight).T, _view(layer.bias)

    def step(x: Array) -> Array:
        out: Array = np.dot(x, weight)
        out += bias
        return out

    return step


def _normalized(layer: Normalizer) -> Step:
    shift, factor = _view(layer.shift), _view(layer.factor)
    return lambda x: np.minimum(np.maximum((x.astype(np.float32) - shift) * factor, -LIMIT), LIMIT)  # np.clip is slow


def _with_deviations(layer: LogStd) -> Step:
    log_std = _view(layer.log_std)
    return lambda x: np.concatenate([x, np.broadcast_to(log_std, (len(x), log_std.size))], 1)


STEPS: dict[type[nn.Module], Callable[[Any], Step]] = {
    Linear: _linear,
    nn.Linear: _linear,
    nn.ReLU: lambda layer: lambda x: np.maximum(x, 0.0),
    nn.Tanh: lambda layer: np.tanh,
    Tanh: lambda layer: np.tanh,
    nn.Flatten: lambda layer: lambda x: x.reshape(len(x), -1),
    ToFloat: lambda layer: lambda x: x.astype(np.float32),
    Normalizer: _normalized,
    LogStd: _with_deviations,
}
"""Layer -> what makes the function of one; a network with any other layer is left to torch."""


def _is_known(layer: nn.Module) -> bool:
    """Returns True for a layer of STEPS with the settings that they take for granted."""
    if isinstance(layer, nn.Flatten):
        return (layer.start_dim, layer.end_dim) == (1, -1)
    return type(layer) in STEPS and getattr(layer, "bias", True) is not None


def few_rows(network: nn.Module, device: torch.device) -> "FewRows | None":
    """Returns the network for a few observations; None if it has other layers than these. Of one on a GPU a copy on the
    CPU acts: its answer would take longer to arrive than to compute."""
    if not (switch.on("few rows") and isinstance(network, Network) and all(_is_known(layer) for layer in network)):
        return None
    if device.type == "cpu":
        return FewRows(network)
    return Followed(network) if all(x.dtype == torch.float32 for x in _state(network)) else None


class FewRows:
    """A network for at most `rows` observations."""

    def __init__(self, network: Network) -> None:
        self.network, self._largest = network, max(p.numel() for p in network.parameters())
        self.steps = [STEPS[type(layer)](layer) for layer in network]

    @property
    def rows(self) -> int:
        """Largest number of observations that numpy computes faster than torch."""
        return (kernels.now.few_rows or 0) // self._largest

    def __call__(self, obs: Array) -> Array:
        for step in self.steps:
            obs = step(obs)
        return obs

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuilds the views when copied or pickled."""
        return type(self), (self.network,)


class Followed(FewRows):
    """A network on a GPU, whose weights are copied to the CPU when they have changed, all in one copy."""

    def __init__(self, network: Network) -> None:
        here = copy.deepcopy(network).to("cpu")
        self._original, self._theirs = network, _state(network)
        self._versions = [theirs._version for theirs in self._theirs]
        self._memory = torch.cat([mine.detach().flatten() for mine in _state(here)])
        parts = self._memory.split([mine.numel() for mine in _state(here)])
        for mine, part in zip(_state(here), parts, strict=True):
            mine.data = part.view(mine.shape)
        super().__init__(here)

    @torch.no_grad()
    def __call__(self, obs: Array) -> Array:
        versions = [theirs._version for theirs in self._theirs]
        if versions != self._versions:
            self._memory.copy_(torch.cat([theirs.flatten() for theirs in self._theirs]))
            self._versions = versions
        return super().__call__(obs)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._original,)


def _state(network: nn.Module) -> list[Tensor]:
    """Returns the parameters and buffers of a network."""
    return [*network.parameters(), *network.buffers()]
