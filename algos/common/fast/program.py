"""A gradient step as a program: the operations that torch carries out in one call, written down as a text, and the
library that torch's compiler makes of it.

Autograd runs while a step is recorded, so that the program has the forward pass, the backward pass and the optimizer in
it. Tensors that the step reads, the layers' and the optimizer's too, and random numbers that it draws (`drawn`) are its
inputs; numbers of Python are in the text. So two steps with the same text are the same function of their inputs, and
the hash of the text names what was compiled from it (compiled_steps.py). Recording takes milliseconds, and imports
nothing of torch's compiler, which a run on a CPU imports nowhere but in the processes that make libraries.
"""

import functools
import json
import os
import sys
import threading
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from algos.common.fast import kernels
from config.system.processes import end_own_group
from config.tell.language import tr

Function = Callable[..., Any]
"""Function of tensors, dicts of them and None, to tensors in tuples and dicts."""
Generator = np.random.Generator | torch.Generator
Draw = Callable[[], Tensor]
"""Function that draws a tensor, of the same sizes and type at every call."""
MOST_NUMBERS = 1024
"""Size of a tensor made of Python's numbers within a step, such as torch.tensor([0.5]), up to which the text has it."""


class ProgramError(Exception):
    """Raised for a step that is no fixed list of operations; the message explains why."""


class Recording(NamedTuple):
    """A call of a step."""

    text: str
    """The program: JSON with the sizes and types of the inputs, the operations, and the outputs."""
    inputs: list[Tensor]
    """Tensors that were read and not made in the call, in the order of the program."""
    outputs: Any
    """Result of the step, with the place in the program's outputs instead of each tensor."""
    draws: dict[int, Draw]
    """Functions that draw the inputs in these places before each call, in the order of the step."""


def record(function: Function, arguments: Sequence[Any]) -> Recording:
    """Returns the program of a call of a step. Tensors and generators are afterwards as before. Raises ProgramError if
    another call would be another program, or would read another tensor."""
    first, second = _record(function, arguments), _record(function, arguments)
    if first.text != second.text:
        raise ProgramError(tr("two calls of the step are different operations"))
    pairs = enumerate(zip(first.inputs, second.inputs, strict=True))
    if any(a is not b for place, (a, b) in pairs if place not in first.draws):
        raise ProgramError(tr("the step makes numbers in another way than by torch"))
    return first


def _record(function: Function, arguments: Sequence[Any]) -> Recording:
    global _recorder
    recorder = _Recorder()
    kernels.recording, _recorder = True, recorder
    try:
        with recorder:
            result = function(*arguments)
        outputs: list[Tensor] = []
        structure = _without_tensors(result, outputs)
        numbers = [recorder.number(output) for output in outputs]
        recorder.check()
    finally:
        kernels.recording, _recorder = False, None
        recorder.restore()
    described = [[list(x.shape), list(x.stride()), str(x.dtype), str(x.device)] for x in recorder.inputs]
    text = json.dumps({"inputs": described, "operations": recorder.operations, "outputs": numbers})
    return Recording(text, recorder.inputs, structure, recorder.draws)


def _without_tensors(value: Any, tensors: list[Tensor]) -> Any:
    """Returns a structure with numbers in place of its tensors, which are appended to the list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if isinstance(value, dict):
        return {key: _without_tensors(part, tensors) for key, part in value.items()}
    if isinstance(value, tuple | list):
        parts = [_without_tensors(part, tensors) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


# random numbers ---------------------------------------------------------------------------------------------

_recorder: "_Recorder | None" = None
"""Takes the draws while a step is written down."""


def drawn(rng: Generator, draw: Draw) -> Tensor:
    """Returns what a function draws from rng, which may depend on no tensor of the step. In a program it is an input,
    drawn before each call."""
    return draw() if _recorder is None else _recorder.draw(rng, draw)


def generator_of(device: torch.device) -> torch.Generator:
    """Returns the generator that torch draws from on a device."""
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def _state_of(rng: Generator) -> Any:
    return rng.get_state() if isinstance(rng, torch.Generator) else rng.bit_generator.state


def _set_state(rng: Generator, state: Any) -> None:
    if isinstance(rng, torch.Generator):
        rng.set_state(state)
    else:
        rng.bit_generator.state = state


# writing a step down ----------------------------------------------------------------------------------------


class _Place(int):
    """Place of a tensor in a list."""


def with_tensors(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """Returns a structure of `Recording.outputs` with these tensors."""
    if isinstance(structure, _Place):
        return tensors[structure]
    if isinstance(structure, dict):
        return {key: with_tensors(part, tensors) for key, part in structure.items()}
    if isinstance(structure, tuple):
        parts = [with_tensors(part, tensors) for part in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    if isinstance(structure, list):
        return [with_tensors(part, tensors) for part in structure]
    return structure


class _Seen:
    """Sees each operation. A class of its own, since torch imports its compiler for modes that define this method."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.operation(func, args, kwargs or {})

    @abstractmethod
    def operation(self, operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carries out an operation."""


class _Recorder(_Seen, TorchDispatchMode):
    """Writes down each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Any] = []
        self.inputs: list[Tensor] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Tensor] = []
        """All tensors, so that no other one gets the identity of an earlier one."""
        self._made: set[int] = set()
        """Memory that was allocated in the call."""
        self._before: list[tuple[Tensor, Tensor]] = []
        """Inputs that were changed, and their values before."""
        self.draws: dict[int, Draw] = {}
        self._generators: dict[Generator, Any] = {}
        """Generators that were drawn from, and their states before."""
        self._drawing = False

    def draw(self, rng: Generator, draw: Draw) -> Tensor:
        """Returns drawn numbers, which are an input of the program."""
        self._generators.setdefault(rng, _state_of(rng))
        self._drawing = True
        try:
            tensor = draw()
        finally:
            self._drawing = False
        self.draws[len(self.inputs)] = draw
        self.number(tensor)
        return tensor

    def operation(self, operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if self._drawing:
            return operator(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in operator.tags:
            raise ProgramError(tr("the step draws random numbers ({operation})", operation=operator))
        if torch.Tag.dynamic_output_shape in operator.tags and not _by_places(operator, args):
            raise ProgramError(tr("sizes in the step depend on its numbers ({operation})", operation=operator))
        if str(operator) == "aten.lift_fresh.default":  # a tensor that Python has made
            return self._constant(args[0])
        written = [str(operator), self._plain(args), {name: self._plain(value) for name, value in kwargs.items()}]
        self._save(operator, args, kwargs)
        result = operator(*args, **kwargs)
        self.operations.append([*written, self._results(result, str(operator))])
        return result

    def check(self) -> None:
        """Raises ProgramError if what is changed is a part of another input: a program has them apart."""
        for changed, _ in self._before:
            if any(_memory(x) == _memory(changed) and x is not changed for x in self.inputs):
                raise ProgramError(tr("the step changes a tensor that shares memory with another one"))

    def restore(self) -> None:
        """Gives inputs the values that they had before the call, and generators their states."""
        for rng, state in self._generators.items():
            _set_state(rng, state)
        with torch.no_grad():
            for tensor, before in self._before:
                tensor.copy_(before)

    def number(self, tensor: Tensor) -> int:
        """Returns the number of a tensor in the program. One that is new is an input."""
        if (number := self._numbers.get(id(tensor))) is not None:
            return number
        if _memory(tensor) in self._made:
            raise ProgramError(tr("the step changes tensors in another way than by torch"))
        self.inputs.append(tensor)
        self.operations.append(["input", len(self.inputs) - 1, self._new(tensor)])
        return self._numbers[id(tensor)]

    def _new(self, tensor: Tensor) -> int:
        self._kept.append(tensor)
        self._numbers[id(tensor)] = len(self._numbers)
        return self._numbers[id(tensor)]

    def _constant(self, tensor: Tensor) -> Tensor:
        if tensor.numel() > MOST_NUMBERS:
            raise ProgramError(tr("the step makes numbers in another way than by torch"))
        value = tensor.detach().tolist()
        self.operations.append(
            ["constant", self._plain(value), str(tensor.dtype), str(tensor.device), self._new(tensor)]
        )
        self._made.add(_memory(tensor))
        return tensor

    def _plain(self, value: Any) -> Any:
        """Returns an argument as a part of the text."""
        if isinstance(value, Tensor):
            return {"tensor": self.number(value)}
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return {"float": repr(value)}
        if isinstance(value, list | tuple):
            return [self._plain(part) for part in value]
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return {"torch": str(value)}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        raise ProgramError(tr("an operation of the step has an argument of type {type}", type=type(value).__name__))

    def _results(self, result: Any, operator: str) -> Any:
        """Returns the numbers of results."""
        if isinstance(result, Tensor):
            if (number := self._numbers.get(id(result))) is not None:
                return number
            if _memory(result) not in map(_memory, self.inputs):
                self._made.add(_memory(result))
            return self._new(result)
        if isinstance(result, list | tuple):
            return [self._results(part, operator) for part in result]
        if result is None:
            return None
        raise ProgramError(tr("the step reads numbers of tensors ({operation})", operation=operator))

    def _save(self, operator: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Keeps the values of what an operation changes, if that was there before the call."""
        for place, argument in enumerate(operator._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            for tensor in _tensors(args[place] if place < len(args) else kwargs.get(argument.name)):
                if _memory(tensor) not in self._made and all(tensor is not other for other, _ in self._before):
                    self._before.append((tensor, tensor.detach().clone()))


def _memory(tensor: Tensor) -> int:
    """Returns the address of a tensor's memory, which its views share."""
    return tensor.untyped_storage().data_ptr()


def _by_places(operator: Any, args: Any) -> bool:
    """Returns True for samples x[i, j] by their places, whose number is fixed; by a mask it depends on numbers."""
    return str(operator) == "aten.index.Tensor" and all(x.dtype != torch.bool for x in args[1] if x is not None)


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yields the tensors of an argument."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


# the program as a function ----------------------------------------------------------------------------------


def module(
    text: str, others: Mapping[str, Callable[..., Tensor]] | None = None
) -> tuple[torch.nn.Module, tuple[Tensor, ...]]:
    """Returns the program as a module of torch.fx, and inputs of the sizes that it is for. others: functions that take
    the place of these operators."""
    content, others = json.loads(text), others or {}
    root, graph = torch.nn.Module(), torch.fx.Graph()
    places = [graph.placeholder(f"input_{place}") for place in range(len(content["inputs"]))]
    values: dict[int, Any] = {}
    for operation in content["operations"]:
        if operation[0] == "input":
            values[operation[2]] = places[operation[1]]
        elif operation[0] == "constant":
            _, value, dtype, device, number = operation
            tensor = torch.tensor(_value(value, values), dtype=_of_torch(dtype), device=device)
            root.register_buffer(f"constant_{number}", tensor)
            constant = graph.get_attr(f"constant_{number}")
            values[number] = graph.call_function(torch.clone, (constant,))
        else:
            name, args, kwargs, results = operation
            named = {key: _value(value, values) for key, value in kwargs.items()}
            node = graph.call_function(others.get(name) or _operator(name), tuple(_value(args, values)), named)
            _bind(graph, node, results, values)
    graph.output(tuple(values[number] for number in content["outputs"]))
    inputs = tuple(
        torch.empty_strided(shape, stride, dtype=_of_torch(dtype), device=device).zero_()
        for shape, stride, dtype, device in content["inputs"]
    )
    return torch.fx.GraphModule(root, graph), inputs


def _bind(graph: torch.fx.Graph, node: Any, results: Any, values: dict[int, Any]) -> None:
    if isinstance(results, list):
        for place, result in enumerate(results):
            if result is not None:
                _bind(graph, graph.call_function(_item, (node, place)), result, values)
    elif results is not None:
        values.setdefault(results, node)


def _item(values: Any, place: int) -> Any:
    return values[place]


def _value(value: Any, values: dict[int, Any]) -> Any:
    if isinstance(value, list):
        return [_value(part, values) for part in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "tensor":
        return values[content]
    if kind == "float":
        return float(content)
    return torch.device(content) if kind == "device" else _of_torch(content)


def _of_torch(name: str) -> Any:
    return getattr(torch, name.removeprefix("torch."))


def _operator(name: str) -> Any:
    namespace, operation, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), operation), overload)


# the program as a library, in a process of its own (compiled_steps.py) --------------------------------------

OPTIONS: dict[str, Any] = {
    "aot_inductor.precompile_headers": False,  # torch would keep them in a folder that all users share
    "compile_threads": 1,  # others would be processes that outlive this one
    "cpp.vec_isa_ok": True,  # asks the compiler for seconds whether it knows this processor's vectors
}
"""Settings of AOTInductor."""
LIBRARIES = (".so", ".dylib", ".pyd", ".dll")
"""Ends of the names of libraries."""


def make(source: str, target: str, threads: str) -> None:
    """Reads a program, and writes the library of its package. threads: number of threads that it computes with."""
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    from torch._inductor import aoti_compile_and_package

    torch.set_num_threads(int(threads))
    operators = torch.library.Library("joystick", "FRAGMENT")  # they are there as long as it is
    _lower(operators)
    text = Path(source).read_text(encoding="utf-8")
    step, inputs = module(text, PRODUCTS)
    exported = torch.export.export(step, inputs)
    package = Path(target).parent.with_name("step.pt2")
    aoti_compile_and_package(exported, package_path=str(package), inductor_configs=OPTIONS)
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


# products in a library --------------------------------------------------------------------------------------

NARROW, NARROW_IN_SUMS = 16, 8
"""Length of a side of a matrix up to which its products are loops; and where each number of them is a sum over rows, as
in the gradient of a narrow layer."""
LONG = 1024
"""Number of rows up to which such a sum is a loop: it reads a wide matrix in columns."""


def _loops(x: Tensor, y: Tensor, bias: Tensor | None = None) -> Tensor | None:
    """Returns bias plus x [..., M, K] times y [..., K, N] where a side is narrow, as loops, which the compiler unites
    with what comes before and after; None for other products, which a kernel makes faster. The innermost loops go along
    numbers that are side by side in memory."""
    (m, k), n = x.shape[-2:], y.shape[-1]
    if k <= NARROW:
        rows = y if n <= NARROW else _in_rows(y)
        terms = (x[..., at : at + 1] * rows[..., at : at + 1, :] for at in range(k))
        return functools.reduce(torch.add, terms if bias is None else (bias, *terms))
    wide = x if n <= m else y.mT
    if min(m, n) <= NARROW and wide.stride(-1) == 1:
        product = (x.unsqueeze(-2) * y.mT.unsqueeze(-3)).sum(-1)
    elif min(m, n) > NARROW_IN_SUMS or k > LONG:
        return None
    elif n <= m:
        product = _in_rows((y.mT.unsqueeze(-1) * x.mT.unsqueeze(-3)).sum(-2)).mT
    else:
        product = (x.unsqueeze(-1) * y.unsqueeze(-3)).sum(-2)
    return product if bias is None else bias + product


def _in_rows(x: Tensor) -> Tensor:
    """Returns x with the numbers of each row side by side."""
    rows: Tensor = x if x.stride(-1) == 1 else torch.ops.joystick.in_rows(x)
    return rows


def _unless_narrow(operator: Any) -> Callable[..., Tensor]:
    """Returns a product of torch that narrow matrices have as loops."""

    def product(*arguments: Tensor) -> Tensor:
        *bias, x, y = arguments
        loops = _loops(x, y, *bias)
        result: Tensor = operator(*arguments) if loops is None else loops
        return result

    return product


def _by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None, *_: Any) -> Tensor:
    """Returns what kernels.addmm asks oneDNN for. It would copy an x that is not in rows, more slowly."""
    loops = _loops(x, weight.t(), bias)
    result: Tensor = torch.ops.joystick.product(_in_rows(x), weight, bias) if loops is None else loops
    return result


ATEN = torch.ops.aten
PRODUCTS: dict[str, Callable[..., Tensor]] = {
    "mkldnn._linear_pointwise.default": _by_onednn,
    **{str(name.default): _unless_narrow(name.default) for name in (ATEN.mm, ATEN.addmm, ATEN.bmm, ATEN.baddbmm)},
}
"""Operator -> function in its place in a library. torch's compiler has rules for oneDNN's that take constant weights
only."""


def _lower(operators: torch.library.Library) -> None:
    """Lets the compiler call oneDNN for products, and write a matrix down in rows, by operators of ours."""
    from torch._inductor import ir
    from torch._inductor.lowering import clone, register_lowering
    from torch._inductor.mkldnn_ir import LinearUnary, _create_output_node

    operators.define("product(Tensor x, Tensor weight, Tensor? bias) -> Tensor")
    operators.impl("product", lambda x, weight, bias: x.new_empty((len(x), len(weight))), "Meta")

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

    operators.define("in_rows(Tensor x) -> Tensor")
    operators.impl("in_rows", lambda x: x.new_empty(x.shape), "Meta")

    @register_lowering(torch.ops.joystick.in_rows.default, type_promotion_kind=None)
    def written(x: Any) -> Any:
        return ir.ExternKernel.require_contiguous(clone(x))
