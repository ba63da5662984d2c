"""Weights of a module as numpy arrays, and back, to the bit."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

Array = np.ndarray


def weights_of(module: nn.Module) -> dict[str, Array]:
    """Every parameter and statistic of the module by name, each an array of its own."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


@torch.no_grad()
def load_weights(module: nn.Module, weights: Mapping[str, Array]) -> None:
    """Copy arrays that weights_of gave into a module of the same layers, in place."""
    own = module.state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in own.items()}
    given = {name: np.shape(array) for name, array in weights.items()}
    for name in sorted(shapes.keys() | given.keys()):
        if shapes.get(name) != given.get(name):
            here, there = shapes.get(name, "missing"), given.get(name, "missing")
            raise ValueError(f"the saved weights do not fit this network: {name} is {here} here and {there} there")
    for name, tensor in own.items():
        tensor.copy_(torch.tensor(weights[name]))
