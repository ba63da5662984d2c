"""Functions of tensors compiled by torch, whose compiler gets a folder that nobody else can write to."""

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from algos.common.fast import layers
from config.system.files import is_private
from config.system.name import user

TORCH_CACHE = "TORCHINDUCTOR_CACHE_DIR"
"""Environment variable with the folder in which torch keeps compiled code between runs."""
Graph = Callable[..., Any]
"""Function of tensors, or of dicts of them, that was compiled or is to be."""


def prepare() -> None:
    """Loads torch's compiler. It gets a folder of this user's own, unless the environment names one: its default is a
    name in the shared folder for temporary files, and it runs what it finds there, whoever made it."""
    if TORCH_CACHE not in os.environ and user() is not None:  # Windows gives each user a folder of its own
        path = os.path.join(tempfile.gettempdir(), f"joystick-torch-{user()}")
        os.environ[TORCH_CACHE] = path if _is_private(path) else _of_this_process()
    import torch._dynamo  # takes a second to import; only compiled runs need it
    import torch._functorch.config
    import torch._inductor.config  # which looks for the folder
    from torch._inductor import codecache

    torch._inductor.config.compile_threads = 1  # others would be processes that outlive the run
    codecache._HEADER_DIR = os.path.join(os.environ[TORCH_CACHE], "precompiled_headers")
    codecache._HEADER_LOCK_DIR = os.path.join(codecache._HEADER_DIR, "locks")


def _is_private(path: str) -> bool:
    """Makes a folder if there is none. Returns True if it is this user's, and nobody else may look into it."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and is_private(facts, 0o077)


def _of_this_process() -> str:
    """Returns a new private folder, which is removed when this process ends."""
    path = tempfile.mkdtemp(prefix="joystick-torch-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def graph_of(function: Graph, inputs: tuple[Any, ...], state: Sequence[Tensor]) -> Graph:
    """Compiles a function of tensors for these inputs and others of their sizes. state: tensors that it changes."""
    prepare()
    torch._dynamo.config.trace_autograd_ops = True

    def unbound(*arguments: Any) -> Any:  # the compiler takes no bound method
        return function(*arguments)

    return _cpu_graph(unbound, inputs) if state[0].device.type == "cpu" else _cuda_graph(unbound, state)


def _cpu_graph(function: Graph, inputs: tuple[Any, ...]) -> Graph:
    """Compiles a function; its kernels are called by C++. Tensors are read at every call. Inputs of other shapes raise;
    other dtypes are not detected. Python numbers and modules are frozen at the first call: guards are skipped because
    they cost more than small kernels."""
    if layers.LIBRARY == "oneDNN":
        layers.lower()
    options: dict[str, Any] = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe, "cpp_wrapper": True}
    graph = _ahead(torch.compile(function, fullgraph=True, dynamic=False, options=options), inputs)
    graph.disable_guard_check()
    return graph


def _ahead(compiled: Any, inputs: tuple[Any, ...]) -> Any:
    """Compiles a function ahead of its first call. torch keeps graphs with gradients in them on disk under a number of
    Python's random module: whoever seeds that as another run did, such as an environment, would be given the graph of
    that run."""
    with torch._functorch.config.patch(enable_autograd_cache=False):
        return compiled.aot_compile((inputs, {}))


def _cuda_graph(function: Graph, state: Sequence[Tensor]) -> Graph:
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


def attempt(gpu: bool) -> None:
    """Compiles a small gradient step as those of agents are compiled, and makes it; raises whatever a compiler and its
    caches can raise, also where another version of torch has no such functions. gpu: for a GPU, if there is one."""
    prepare()
    if gpu and torch.cuda.is_available():
        torch.compile(torch.square, fullgraph=True)(torch.ones(3, device="cuda"))
        return
    weight = torch.ones(2, requires_grad=True)

    def step(x: Tensor) -> Tensor:
        [gradient] = torch.autograd.grad((x * weight).square().sum(), [weight])
        with torch.no_grad():
            weight.sub_(0.5 * gradient)
        return gradient

    x = torch.tensor([1.0, 2.0])
    numbers = graph_of(step, (x,), [weight])(x).tolist(), weight.tolist()
    if numbers != ([2.0, 8.0], [0.0, -3.0]):
        raise ValueError(f"a small gradient step gives {numbers}")
