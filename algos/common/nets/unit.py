"""Weights of constant size: after each gradient step the weights of each output become a unit vector again."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from algos.common.nets.critics import EnsembleLinear, EnsembleNorm
from algos.common.nets.layers import BatchNorm, BatchRenorm, RmsNorm

LEAST = 1e-8
NORMS = nn.LayerNorm, BatchNorm, BatchRenorm, RmsNorm, EnsembleNorm


def unit_weights(network: nn.Module) -> Callable[[], None]:
    """Returns a function that divides the weights of each output of linear and convolutional layers by their Euclidean
    norm, and scales the weights and shifts of each normalization over D features to the norm sqrt(D) together. Other
    biases stay as they are. It is called once here."""
    rows: list[tuple[Tensor, tuple[int, ...]]] = []
    norms: list[list[Tensor]] = []
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            rows.append((layer.weight, tuple(range(1, layer.weight.ndim))))
        elif isinstance(layer, EnsembleLinear):
            rows.append((layer.weight, (1,)))
        elif isinstance(layer, NORMS):
            norms.append([part for part in (layer.weight, getattr(layer, "bias", None)) if part is not None])

    @torch.no_grad()
    def normalize() -> None:
        for weight, inputs in rows:
            weight.div_(torch.linalg.vector_norm(weight, dim=inputs, keepdim=True).clamp_(min=LEAST))
        for parts in norms:
            square = torch.stack([part.square().sum(-1, keepdim=True) for part in parts]).sum(0)
            factor = math.sqrt(parts[0].shape[-1]) * (square + LEAST).rsqrt()
            for part in parts:
                part.mul_(factor)

    normalize()
    return normalize
