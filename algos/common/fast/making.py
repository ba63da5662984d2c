"""Makes a package of a program, in a process of its own (algos/common/fast/packages.py). Nowhere else in a run on a CPU
is torch's compiler imported."""

import os
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import torch

from algos.common.fast import packages, program
from config.system.processes import end_own_group

LIBRARIES = (".so", ".dylib", ".pyd", ".dll")
"""Ends of the names of libraries."""
PRODUCT = "mkldnn._linear_pointwise.default"
"""Operation of functions.addmm: torch's compiler has rules for it that take constant weights only."""


def main(source: str, target: str, threads: str) -> None:
    """Reads a program, and writes the library of its package. threads: number of threads that it computes with."""
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    from torch._inductor import aoti_compile_and_package

    torch.set_num_threads(int(threads))
    _lower()
    text = Path(source).read_text(encoding="utf-8")
    step, inputs = program.module(text, {PRODUCT: (torch.ops.joystick.product.default, 3)})
    exported = torch.export.export(step, inputs)
    package = Path(target).parent.with_name("step.pt2")
    aoti_compile_and_package(exported, package_path=str(package), inductor_configs=packages.OPTIONS)
    _unpack(package, Path(target))


def _end_with_the_input() -> None:
    """Ends this process, and the compilers that it has started, when the input ends: its parent is gone, or waits no
    more."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    end_own_group()


def _unpack(package: Path, target: Path) -> None:
    """Writes the library that a package of torch contains, and the list of the operations that it leaves to torch, if
    there are some: torch would write them at each start into the folder for temporary files, and leave them there."""
    with zipfile.ZipFile(package) as archive:
        for name in archive.namelist():
            if Path(name).suffix in LIBRARIES:
                target.write_bytes(archive.read(name))
            elif name.endswith(".json") and not name.endswith("_metadata.json"):
                target.with_suffix(".json").write_bytes(archive.read(name))


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
