"""Weight initialization, by the setting `init`."""

import math
from collections.abc import Callable, Set

import torch
from torch import Tensor, nn

from algos.common.nets.custom import Custom, CustomCell
from algos.common.nets.layers import NoisyLinear


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


def initialise(
    hidden: list[nn.Module], output: nn.Module, init: str, output_gain: float, kept: Set[nn.Module] = frozenset()
) -> None:
    """Draws the weights of linear and convolutional layers and sets their biases to 0; default leaves torch's, and
    custom layers and those in `kept` keep their own. Hidden layers that are part of the output count as hidden."""
    if init == "default":
        return
    draw, hidden_gain = INITS[init]
    own = (part for module in hidden for part in module.modules() if isinstance(part, Custom | CustomCell))
    drawn = {part for layer in own for part in layer.modules()} | kept
    for gain, modules in ((hidden_gain, hidden), (output_gain, [output])):
        for layer in (layer for module in modules for layer in module.modules()):
            if isinstance(layer, nn.Linear | nn.Conv2d | NoisyLinear) and layer not in drawn:
                drawn.add(layer)
                draw(layer.weight, gain)
                nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
