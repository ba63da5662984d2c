"""Networks for a few observations, computed by numpy: torch takes longer to start a layer than to compute it.

What this gains is in docs/speed.md. The numbers are those of torch up to rounding; learning is torch's alone.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from algos.common.fast import choices, switch
from algos.common.fast.layers import Linear, Network, Tanh
from algos.common.maths.gaussian import LogStd
from algos.common.maths.normalize import LIMIT, Normalizer
from algos.common.nets.encoder import ToFloat
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
    return lambda x: np.clip((x.astype(np.float32) - shift) * factor, -LIMIT, LIMIT)


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
    """Returns the network for a few observations; None if it is not on a CPU, or has other layers than these."""
    suits = switch.on("few rows") and isinstance(network, Network) and all(_is_known(layer) for layer in network)
    return FewRows(network) if suits and device.type == "cpu" else None  # type: ignore[arg-type]


class FewRows:
    """A network for at most `rows` observations."""

    def __init__(self, network: Network) -> None:
        self.network, self._largest = network, max(p.numel() for p in network.parameters())
        self.steps = [STEPS[type(layer)](layer) for layer in network]

    @property
    def rows(self) -> int:
        """Largest number of observations that numpy computes faster than torch."""
        return (choices.now.few_rows or 0) // self._largest

    def __call__(self, obs: Array) -> Array:
        for step in self.steps:
            obs = step(obs)
        return obs

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuilds the views when copied or pickled."""
        return type(self), (self.network,)
