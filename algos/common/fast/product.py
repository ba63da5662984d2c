"""Matrix products on the CPU by the faster of torch's two libraries.

torch multiplies with MKL, which uses half of the vector width of AMD's processors with AVX-512. oneDNN, which torch has
for convolutions, uses all of it; what it gains is in docs/speed.md. On other processors the products stay torch's.
"""

import functools
from typing import Any

import torch
from torch import Tensor

from algos.common.fast import switch
from config import machine

LEAST = 2_000_000
"""Least number of multiply-adds for which oneDNN wins despite its call overhead of 10 us."""
in_graphs = False
"""True once torch.compile knows these products."""


LIBRARY = machine.matrix_products() if switch.on("products") else "torch"
"""Library that multiplies large matrices: oneDNN, or torch for the one that it chooses."""


def pays(x: Tensor, weight: Tensor) -> bool:
    """Returns True if `addmm` is faster than torch for this weight [K, N], or one of a group [n, K, N], and inputs
    [M, K] or [n, M, K]."""
    if x.device.type != "cpu" or x.dtype != torch.float32 or torch.compiler.is_exporting():
        return False
    if torch.compiler.is_compiling() and not in_graphs:
        return False
    return LIBRARY == "oneDNN" and x.shape[-2] * weight.shape[-2] * weight.shape[-1] >= LEAST


def addmm(bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
    """Returns bias [N] plus x [M, K] times weight [K, N], by oneDNN; with gradients of any order."""
    if not torch.is_grad_enabled():
        return _onednn(bias, x, weight)
    product: Tensor = _Product.apply(bias, x, weight)
    return product


def _onednn(bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
    call = torch.ops.joystick.product if torch.compiler.is_compiling() else _kernel
    product: Tensor = call(x, weight.t(), bias)
    return product


def _kernel(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
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
        nodes = () if torch.compiler.is_compiling() else ctx.next_functions  # a graph has what is asked for
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


@functools.cache
def lower() -> torch.library.Library:
    """Lets torch.compile call oneDNN for these products. They are an operator of ours in a graph, since torch's rules
    for its own one take constant weights only. Returns the operator's library, which the cache keeps alive."""
    from torch._inductor import ir
    from torch._inductor.lowering import register_lowering
    from torch._inductor.mkldnn_ir import LinearUnary, _create_output_node

    library = torch.library.Library("joystick", "FRAGMENT")
    library.define("product(Tensor x, Tensor weight, Tensor? bias) -> Tensor")
    library.impl("product", _kernel, "CPU")
    library.impl("product", lambda x, weight, bias: x.new_empty((len(x), len(weight))), "Meta")

    @register_lowering(torch.ops.joystick.product.default, type_promotion_kind=None)
    def lowered(x: Any, weight: Any, bias: Any) -> Any:
        operands = [ir.ExternKernel.require_stride1(ir.ExternKernel.realize_input(operand)) for operand in (x, weight)]
        constants: list[Any] = ["none", [-1], ""]
        if bias is None:
            constants = [None, *constants]
        else:
            operands.append(ir.ExternKernel.realize_input(bias))
        size = [x.get_size()[0], weight.get_size()[0]]
        layout = ir.FixedLayout(device=x.get_device(), dtype=x.get_dtype(), size=size)
        return ir.TensorBox.create(_create_output_node(LinearUnary(layout, operands, constants)))

    global in_graphs
    in_graphs = True
    return library
