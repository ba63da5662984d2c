"""Functions of tensors that were compiled: for the CPU to packages (packages.py), which later runs load; for a GPU by
torch.compile, in each run, whose compiler gets a folder that nobody else can write to."""

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from algos.common.fast import packages, program
from algos.common.fast.packages import Tell
from config.system.name import user

TORCH_CACHE = "TORCHINDUCTOR_CACHE_DIR"
"""Environment variable with the folder in which torch keeps compiled code between runs."""


def prepare() -> None:
    """Loads torch's compiler. It gets a folder of this user's own, unless the environment names one: its default is a
    name in the shared folder for temporary files, and it runs what it finds there, whoever made it."""
    if TORCH_CACHE not in os.environ and user() is not None:  # Windows gives each user a folder of its own
        path = os.path.join(tempfile.gettempdir(), f"joystick-torch-{user()}")
        os.environ[TORCH_CACHE] = path if packages.is_own(path) else str(packages.of_this_process())
    import torch._dynamo  # takes a second to import; only runs on a GPU that compile need it
    import torch._inductor.config  # which looks for the folder
    from torch._inductor import codecache

    torch._inductor.config.compile_threads = 1  # others would be processes that outlive the run
    codecache._HEADER_DIR = os.path.join(os.environ[TORCH_CACHE], "precompiled_headers")
    codecache._HEADER_LOCK_DIR = os.path.join(codecache._HEADER_DIR, "locks")


class Graph:
    """A function of rates and of inputs, which are tensors and dicts of them, that was compiled."""

    package: str | None = None
    """Name of the package that computes it."""

    def __init__(self, run: Callable[..., Any], inputs: Sequence[Any]) -> None:
        """inputs: some that it was compiled for."""
        self._run, self._forms = run, _forms(inputs)

    def fits(self, inputs: Sequence[Any]) -> bool:
        """Returns True if it was compiled for inputs of these sizes and types."""
        return _forms(inputs) == self._forms

    def __call__(self, rates: Tensor, *inputs: Any) -> Any:
        """Returns what the function returns. The inputs must fit: they are not looked at."""
        return self._run(rates, *inputs)


def _forms(inputs: Sequence[Any]) -> list[Any]:
    """Returns name, type, sizes and strides of each tensor."""
    return [
        (name, x.dtype, x.shape, x.stride())
        for part in inputs
        for name, x in (part.items() if isinstance(part, dict) else (("", part),))
        if isinstance(x, Tensor)
    ]


def graph_of(
    function: Callable[..., Any], rates: Tensor, inputs: Sequence[Any], state: Sequence[Tensor], tell: Tell
) -> Graph:
    """Compiles a function of rates and inputs for inputs of these sizes. state: tensors that it changes. tell: hears
    what one waits for. Raises CompileError."""
    if state[0].device.type == "cpu":
        return _Packaged(function, rates, inputs, tell)
    return on_gpu(function, inputs, state)


def on_gpu(function: Callable[..., Any], inputs: Sequence[Any], state: Sequence[Tensor]) -> Graph:
    """Compiles a function for a GPU with its first call, in this process."""
    prepare()
    torch._dynamo.config.trace_autograd_ops = True

    def unbound(*arguments: Any) -> Any:  # the compiler takes no bound method
        return function(*arguments)

    return Graph(_cuda_graph(unbound, state), inputs)


class _Packaged(Graph):
    """A function whose program was compiled to a package, which may be of an earlier run. Python numbers and modules
    are those of the first call; tensors are read at every call."""

    def __init__(self, function: Callable[..., Any], rates: Tensor, inputs: Sequence[Any], tell: Tell) -> None:
        super().__init__(function, inputs)
        inputs = [_apart(part) for part in inputs]
        try:
            recording = program.record(function, (rates, *inputs))
        except program.ProgramError as error:
            raise packages.CompileError(str(error)) from error
        package = packages.load(recording.text, tell)
        self.package, self._package, self._outputs = package.name, package.run, recording.outputs
        numbers = {id(x): number for number, x in enumerate(_tensors(rates, inputs))}
        self._read = [x.detach() for x in recording.inputs]
        self._changing = [(place, numbers[id(x)]) for place, x in enumerate(recording.inputs) if id(x) in numbers]
        """Places of what comes with each call: among what the program reads, and among the tensors of the call."""

    def __call__(self, rates: Tensor, *inputs: Any) -> Any:
        read, tensors = self._read.copy(), _tensors(rates, inputs)
        for place, number in self._changing:
            read[place] = tensors[number]
        return program.with_tensors(self._outputs, self._package(read))


def _apart(part: Any) -> Any:
    """Returns a part of the inputs as tensors of its own: two inputs may be the same tensor in one call, not later."""
    if isinstance(part, dict):
        return {name: _apart(x) for name, x in part.items()}
    return part.detach() if isinstance(part, Tensor) else part


def _tensors(rates: Tensor, inputs: Sequence[Any]) -> list[Tensor]:
    """Returns the tensors of a call."""
    parts = (part.values() if isinstance(part, dict) else (part,) for part in inputs)
    return [rates, *(x for part in parts for x in part if isinstance(x, Tensor))]


def _cuda_graph(function: Callable[..., Any], state: Sequence[Tensor]) -> Callable[..., Any]:
    """Compiles a function; its kernels are started together, as a CUDA graph. What it reads besides the state is copied
    to where the graph has it. What it returns are copies, since the next call writes over it."""
    from torch.utils._pytree import tree_map_only

    for tensor in state:
        torch._dynamo.mark_static_address(tensor)
    how: dict[str, Any] = {"isolate_recompiles": True, "options": {"triton.cudagraphs": True}}
    graph: Any = torch.compile(function, fullgraph=True, dynamic=False, **how)

    def call(*inputs: Any) -> Any:
        torch.compiler.cudagraph_mark_step_begin()
        return tree_map_only(Tensor, Tensor.clone, graph(*inputs))

    return call


def attempt_on_gpu() -> None:
    """Compiles a small function for a GPU; raises whatever a compiler and its caches can raise."""
    prepare()
    torch.compile(torch.square, fullgraph=True)(torch.ones(3, device="cuda"))
