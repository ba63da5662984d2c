"""Kernels that take the place of torch's own: products by oneDNN, the gradient of narrow layers, tanh. Which of them
compute in this process, with those of layers.py and of parts/passes.py: for each the amount of work from which it does
(config/model/kernels.py), as measuring.py found it on this processor or a run recorded it.

Numbers depend on them in their last bits, so a run sets them when it begins, and a resumed run sets those that it had.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algos.common.fast import switch
from config.model.kernels import Kernels

VARIABLE = "JOYSTICK_FIXED_KERNELS"
"""Environment variable; 1 uses the kernels of FIXED on every machine, and measures nothing."""
FIXED = Kernels(
    tanh=1 << 15,
    acting_tanh=1 << 11,
    narrow_gradients=1 << 15,
    single_outputs=1,
    few_rows=1 << 18,
)
"""Kernels where nothing is measured: those that pay on most processors."""
PARTS = {
    "products": "products",
    "compiled_products": "products",
    "tanh": "layers",
    "acting_tanh": "layers",
    "narrow_gradients": "layers",
    "single_outputs": "layers",
    "few_rows": "few rows",
}
"""Kernel -> the part of the room that it belongs to."""


def are_fixed() -> bool:
    """Returns True if the environment asks for the kernels that are the same on every machine."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def older(facts: Mapping[str, Any]) -> Kernels:
    """Returns the kernels of a run whose checkpoints do not record them. facts: of one; from 2,000,000 multiplications
    on, products were made by the library that it names."""
    by_onednn = (facts.get("exactness") or {}).get("matrix_products") == "oneDNN"
    return FIXED.model_copy(update=dict.fromkeys(("products", "compiled_products"), 2_000_000 if by_onednn else None))


def possible(kernels: Kernels) -> Kernels:
    """Returns the kernels without those of parts that are off."""
    return kernels.model_copy(update={name: None for name, part in PARTS.items() if not switch.on(part)})


def use(kernels: Kernels) -> None:
    """Lets these kernels compute from now on."""
    global now
    now = possible(kernels)


def state(kernels: Kernels | None = None) -> str:
    """Returns kernels, or those that compute, with their amounts: a fact of checkpoints."""
    used = possible(kernels or now).model_dump(exclude_none=True)
    return ", ".join(f"{name} {amount}" for name, amount in used.items()) or "torch"


now = possible(FIXED)
"""The kernels that compute."""
recording = False
"""True while a step is recorded (program.py): only operations of torch itself can be seen."""


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
