"""The step of TRPO: conjugate gradients on products with the Fisher matrix, and lengths (Schulman et al., 2015,
appendix C). Vectors are flat, [P] for P parameters."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]
"""Function from a vector [P] to its product with a matrix [P]."""

SMALL = 1e-10
"""Tolerance: share of the initial squared residual below which more steps only add rounding errors."""


def flat(tensors: Iterable[Tensor]) -> Tensor:
    """Concatenates tensors to one vector [P]."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def hessian_product(value: Tensor, parameters: Sequence[Tensor]) -> Product:
    """Returns Hessian-vector products of a scalar, as gradients of g^T v."""
    gradient = flat(torch.autograd.grad(value, parameters, create_graph=True))
    return lambda vector: flat(torch.autograd.grad(gradient @ vector, parameters, retain_graph=True))


def conjugate_gradient(product: Product, b: Tensor, steps: int) -> Tensor:
    """Solves A x = b for x [P] with positive definite A; exact after P steps, approximate after fewer."""
    x, residual, direction = torch.zeros_like(b), b.clone(), b.clone()
    length = residual @ residual
    enough = SMALL * length
    for _ in range(steps):
        if length <= enough:
            break
        image = product(direction)
        rate = length / (direction @ image)
        x += rate * direction
        residual -= rate * image
        length, before = residual @ residual, length
        direction = residual + (length / before) * direction
    return x


def longest_step(direction: Tensor, product: Product, limit: float) -> Tensor:
    """Returns sqrt(2 limit / (x^T H x)) x: the longest step along x within the limit of the quadratic model; 0 for x =
    0."""
    curvature = direction @ product(direction)
    return torch.where(curvature > 0, (2 * limit / curvature).sqrt(), 0.0) * direction


@torch.no_grad()
def place(parameters: Sequence[Tensor], start: Sequence[Tensor], step: Tensor) -> None:
    """Sets the parameters to start + step, in place."""
    pieces = step.split([p.numel() for p in parameters])
    for p, origin, piece in zip(parameters, start, pieces, strict=True):
        torch.add(origin, piece.view_as(p), out=p)
