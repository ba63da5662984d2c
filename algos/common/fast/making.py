"""Makes a package of a program, in a process of its own (algos/common/fast/packages.py). Nowhere else in a run on a CPU
is torch's compiler imported."""

from pathlib import Path
from typing import Any

import torch

from algos.common.fast import packages, program

PRODUCT = "mkldnn._linear_pointwise.default"
"""Operation of layers.addmm: torch's compiler has rules for it that take constant weights only."""


def main(source: str, target: str, threads: str) -> None:
    """Reads a program, and writes its package. threads: number of threads that it computes with."""
    from torch._inductor import aoti_compile_and_package

    torch.set_num_threads(int(threads))
    _lower()
    text = Path(source).read_text(encoding="utf-8")
    step, inputs = program.module(text, {PRODUCT: (torch.ops.joystick.product.default, 3)})
    exported = torch.export.export(step, inputs)
    aoti_compile_and_package(exported, package_path=target, inductor_configs=packages.OPTIONS)


def _lower() -> None:
    """Lets the compiler call oneDNN for products, by an operator of ours."""
    from torch._inductor import ir
    from torch._inductor.lowering import register_lowering
    from torch._inductor.mkldnn_ir import LinearUnary, _create_output_node

    LIBRARY.define("product(Tensor x, Tensor weight, Tensor? bias) -> Tensor")
    LIBRARY.impl("product", lambda x, weight, bias: x.new_empty((len(x), len(weight))), "Meta")

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


LIBRARY = torch.library.Library("joystick", "FRAGMENT")
