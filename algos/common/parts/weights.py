"""Conversion of the weights of a module to numpy arrays and back, to the bit."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from config.model.arrays import Array


def weights_of(module: nn.Module) -> dict[str, Array]:
    """Returns a copy of every parameter and statistic of the module by name."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


@torch.no_grad()
def load_weights(module: nn.Module, weights: Mapping[str, Array]) -> None:
    """Copies weights_of() into a module of the same layers, in place."""
    own = module.state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in own.items()}
    given = {name: np.shape(array) for name, array in weights.items()}
    for name in sorted(shapes.keys() | given.keys()):
        if shapes.get(name) != given.get(name):
            here, there = shapes.get(name, "missing"), given.get(name, "missing")
            raise ValueError(f"the saved weights do not fit this network: {name} is {here} here and {there} there")
    for name, tensor in own.items():
        tensor.copy_(torch.tensor(weights[name]))
