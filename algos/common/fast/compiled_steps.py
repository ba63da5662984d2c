"""Gradient steps as one call: their programs (program.py), for the CPU compiled to packages (packages.py), which later
runs load; for a GPU captured as a CUDA graph, which starts all kernels of a step together and needs no compiler."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from algos.common.fast import packages, program, switch, tensors
from algos.common.fast.packages import CompileError, Tell
from algos.common.nets import custom

T = TypeVar("T")
Run = Callable[[list[Tensor]], Sequence[Tensor]]
"""Function of all tensors that a program reads, some of which it changes, to its outputs."""


class CompiledStep:
    """A function of rates and of inputs, which are tensors and dicts of them, as a compiled program. Python numbers and
    modules are those of the first call; tensors are read at every call."""

    package: str | None = None
    """Name of the package that computes it; None on a GPU."""

    def __init__(self, function: Callable[..., Any], rates: Tensor, inputs: Sequence[Any], tell: Tell) -> None:
        """inputs: some of the sizes that it is for. tell: hears what one waits for. Raises CompileError."""
        self._forms = _forms(inputs)
        inputs = [_apart(part) for part in inputs]
        try:
            recording = program.record(function, (rates, *inputs))
        except program.ProgramError as error:
            raise CompileError(str(error)) from error
        self._outputs = recording.outputs
        numbers = {id(x): number for number, x in enumerate(_tensors(rates, inputs))}
        self._read = [x.detach() for x in recording.inputs]
        self._changing = [(place, numbers[id(x)]) for place, x in enumerate(recording.inputs) if id(x) in numbers]
        """Places of what comes with each call: among what the program reads, and among the tensors of the call."""
        if rates.is_cuda:
            self._run = graph_of(recording.text, self._read, [place for place, _ in self._changing])
        else:
            package = packages.load(recording.text, tell)
            self.package, self._run = package.name, package.run

    def fits(self, inputs: Sequence[Any]) -> bool:
        """Returns True if it was compiled for inputs of these sizes and types."""
        return _forms(inputs) == self._forms

    def __call__(self, rates: Tensor, *inputs: Any) -> Any:
        """Returns what the function returns. The inputs must fit: they are not looked at."""
        read, called = self._read.copy(), _tensors(rates, inputs)
        for place, number in self._changing:
            read[place] = called[number]
        return program.with_tensors(self._outputs, self._run(read))


def _forms(inputs: Sequence[Any]) -> list[Any]:
    """Returns name, type, sizes and strides of each tensor."""
    return [
        (name, x.dtype, x.shape, x.stride())
        for part in inputs
        for name, x in (part.items() if isinstance(part, dict) else (("", part),))
        if isinstance(x, Tensor)
    ]


def _apart(part: Any) -> Any:
    """Returns a part of the inputs as tensors of its own: two inputs may be the same tensor in one call, not later."""
    if isinstance(part, dict):
        return {name: _apart(x) for name, x in part.items()}
    return part.detach() if isinstance(part, Tensor) else part


def _tensors(rates: Tensor, inputs: Sequence[Any]) -> list[Tensor]:
    """Returns the tensors of a call."""
    parts = (part.values() if isinstance(part, dict) else (part,) for part in inputs)
    return [rates, *(x for part in parts for x in part if isinstance(x, Tensor))]


def capture(device: torch.device, first: Callable[[], object], work: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
    """Returns the kernels of `work` as a CUDA graph, and what it returns, which each replay writes anew. first: is
    called before, since libraries make their workspaces in a first call. Raises CompileError."""
    try:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            first()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            outputs = work()
    except RuntimeError as error:  # such as memory that is full
        raise CompileError(switch.first_line(error)) from error
    return graph, outputs


@torch.no_grad()
def graph_of(text: str, read: list[Tensor], changing: Sequence[int]) -> Run:
    """Returns what runs a program as a CUDA graph, whose kernels have fixed addresses: what comes with each call is
    copied to where the graph reads it, and the outputs are copied, since the next call writes over them. read: what
    the program reads. changing: places of what comes with each call. Raises CompileError."""
    step, _ = program.module(text)
    fixed = read.copy()
    for place in changing:
        fixed[place] = read[place].clone()
    # the first call changes only copies
    graph, outputs = capture(read[0].device, lambda: step(*(x.clone() for x in fixed)), lambda: step(*fixed))

    def run(read: list[Tensor]) -> list[Tensor]:
        tensors.copy([fixed[place] for place in changing], [read[place] for place in changing])
        graph.replay()
        return [x.clone() for x in outputs]

    return run


SEEN_BEFORE, MOST_SIZES = 10, 4
"""Passes of some size without a graph before one is captured, and sizes that have one: episodes that end leave fewer
rows, of which each number is seen for a few steps."""


class Passes:
    """Forward passes of a network on a GPU, as CUDA graphs for the sizes that come often. A graph gives the bits of the
    pass that it was captured from."""

    def __init__(self, network: nn.Module, device: torch.device) -> None:
        self._network, self._device = network, device
        self._seen: Counter[Any] = Counter()
        self._graphs: dict[Any, tuple[Tensor, torch.cuda.CUDAGraph, Tensor]] = {}
        self._most = MOST_SIZES

    @torch.inference_mode()
    def __call__(self, x: Tensor) -> Tensor:
        """Returns the outputs for observations on the CPU. The next call may write over them."""
        size = x.shape, x.dtype
        self._seen[size] += 1
        if size not in self._graphs and self._seen[size] > SEEN_BEFORE and len(self._graphs) < self._most:
            self._add(size, x.to(self._device))
        if size not in self._graphs:
            return self._forward(x.to(self._device))
        fixed, graph, outputs = self._graphs[size]
        fixed.copy_(x)
        graph.replay()
        return outputs

    def _forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self._network.forward(x)
        return outputs

    def _add(self, size: Any, fixed: Tensor) -> None:
        """Captures a graph for a size; where that fails, there are no further ones."""
        try:
            graph, outputs = capture(self._device, lambda: self._forward(fixed), lambda: self._forward(fixed))
        except CompileError:
            self._most = 0
        else:
            self._graphs[size] = fixed, graph, outputs

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has graphs of its own."""
        return type(self), (self._network, self._device)


def passes(network: nn.Module, device: torch.device) -> Passes | None:
    """Returns the graphs of a network's passes; None on a CPU, and for layers of the user's own, which may do what a
    graph cannot."""
    if device.type != "cuda" or not switch.on("compile") or any(map(custom.is_own, network.modules())):
        return None
    return Passes(network, device)
