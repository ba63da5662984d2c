"""Layers of torch whose kernels are slow on a CPU, with faster ones: the same functions, up to rounding.

What they gain is in docs/speed.md. For few numbers, on other devices and in an export they are torch's own.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast import product

NARROW = 12
"""Number of inputs of a linear layer up to which its gradient is computed as (x^T g)^T."""
MANY = 1 << 15
"""Least number of outputs for which the fast kernel outweighs the autograd overhead of 20 us."""
SOME = 1 << 11
"""The same without gradients: what calling numpy costs."""


def _pays(x: Tensor, outputs: float, least: int) -> bool:
    """Returns True for at least so many outputs of a kind that the faster kernels can take. outputs: for each number
    of x."""
    if torch.compiler.is_compiling() or x.device.type != "cpu" or x.dtype != torch.float32:
        return False
    return x.numel() * outputs >= least


class Linear(nn.Linear):
    """nn.Linear. The gradient of few inputs' weights, g^T x, takes torch up to twelve times as long as (x^T g)^T."""

    def forward(self, x: Tensor) -> Tensor:
        narrow = self.in_features <= NARROW and x.dim() == 2 and torch.is_grad_enabled()
        if narrow and not product.pays(x, self.weight) and _pays(x, self.out_features / self.in_features, MANY):
            return _NarrowLinear.apply(x, self.weight, self.bias)
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Returns F.linear of them, by the faster library."""
    if x.dim() < 2 or not product.pays(rows := x.flatten(0, -2), weight):
        return F.linear(x, weight, bias)
    return product.addmm(bias, rows, weight.t()).unflatten(0, x.shape[:-1])


class _NarrowLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.addmm(bias, x, weight.t())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        inputs = grad.mm(weight) if ctx.needs_input_grad[0] else None
        return inputs, x.t().mm(grad).t().contiguous(), grad.sum(0)


class Tanh(nn.Tanh):
    """nn.Tanh, computed by numpy in a fifth of the time."""

    def forward(self, x: Tensor) -> Tensor:
        records = x.requires_grad and torch.is_grad_enabled()
        if not _pays(x, 1, MANY if records else SOME):
            return super().forward(x)
        return _Tanh.apply(x) if records else _tanh(x)


def _tanh(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    np.tanh(x.detach().numpy(), out=y.numpy())
    return y


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, y)
