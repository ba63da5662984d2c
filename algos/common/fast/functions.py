"""Functions of torch, computed otherwise: products by oneDNN, the gradient of narrow layers, tanh."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

# matrix products --------------------------------------------------------------------------------------------


def addmm(bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
    """Returns bias [N] plus x [M, K] times weight [K, N], by oneDNN; with gradients of any order."""
    if not torch.is_grad_enabled():
        return _onednn(bias, x, weight)
    product: Tensor = _Product.apply(bias, x, weight)
    return product


def _onednn(bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight.t(), bias, "none", [], "")
    return product


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _onednn(bias, x, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        for_bias, for_x, for_weight = ctx.needs_input_grad
        nodes = ctx.next_functions
        for_bias = for_bias and all(map(_is_asked_for, nodes[:1]))
        for_weight = for_weight and all(map(_is_asked_for, nodes[-1:]))
        return (
            grad.sum(0) if for_bias else None,
            addmm(None, grad, weight.t()) if for_x else None,
            _gradient_of_weight(x, grad, weight) if for_weight else None,
        )


def _is_asked_for(function: tuple[Any, int]) -> bool:
    """Returns False if the running backward pass does not need this gradient (critic weights in an actor loss).
    `needs_input_grad` does not know; leaves cannot be queried and count as needed."""
    node = function[0]
    return "AccumulateGrad" in node.name() or torch._C._will_engine_execute_node(node)


def _gradient_of_weight(x: Tensor, grad: Tensor, weight: Tensor) -> Tensor:
    """Returns x^T grad [K, N] in the layout of the weight, which the optimizer needs."""
    if weight.is_contiguous():
        return addmm(None, x.t(), grad)
    if 2 * weight.shape[0] > weight.shape[1]:
        return addmm(None, grad.t(), x).t()
    return addmm(None, x.t(), grad).t().contiguous().t()  # few inputs: up to twice as fast, although it is copied


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


def narrow_linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Returns F.linear of inputs [M, K], whose gradient of the weights is (x^T g)^T."""
    y: Tensor = _NarrowLinear.apply(x, weight, bias)
    return y


# tanh -------------------------------------------------------------------------------------------------------


def tanh_by_polynomials(x: Tensor) -> Tensor:
    """Returns tanh of float32 numbers up to 4e-7, in operations that a compiler unites in one pass over them."""
    y: Tensor = _Quotient.apply(x) if x.requires_grad and torch.is_grad_enabled() else _quotient(x)
    return y


LARGEST = 7.90531110763549805
"""Number from which the float32 next to tanh is 1."""
ODD = (
    -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05,
    6.37261928875436e-04, 4.89352455891786e-03,
)  # fmt: skip
EVEN = 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03
"""Coefficients of Eigen's and XLA's tanh: of x times powers of x^2, and of powers of x^2, the highest first."""


def _quotient(x: Tensor) -> Tensor:
    x = x.clamp(-LARGEST, LARGEST)
    square = x * x
    above, below = square * ODD[0] + ODD[1], square * EVEN[0] + EVEN[1]
    for coefficient in ODD[2:]:
        above = above * square + coefficient
    for coefficient in EVEN[2:]:
        below = below * square + coefficient
    return x * above / below


def tanh_by_numpy(x: Tensor) -> Tensor:
    """Returns tanh of float32 numbers on the CPU, with gradients if they are asked for."""
    y: Tensor = _Tanh.apply(x) if x.requires_grad and torch.is_grad_enabled() else _tanh(x)
    return y


def _tanh(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    np.tanh(x.detach().numpy(), out=y.numpy())
    return y


class _Tanh(torch.autograd.Function):
    compute = staticmethod(_tanh)

    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:
        y = cls.compute(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, y)


class _Quotient(_Tanh):
    compute = staticmethod(_quotient)
