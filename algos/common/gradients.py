"""Gradients of a loss, by autograd or from one compiled graph (general_cfg.compile)."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from algos.common.settings import NetworkConfig

Loss = Callable[..., tuple[Tensor, Any]]
"""Function of tensors, or of dicts of them, to a loss and whatever else the update needs, without gradients."""
Graph = Callable[..., Any]
"""Function of tensors, or of dicts of them, that was compiled or is to be."""
NOT_COMPILED = frozenset({"lstm", "gru", "custom", "dropout", "batchrenorm"})
"""Layers that draw random numbers, change statistics, loop over steps, or are the user's own."""


def uncompiled_layers(cfg: NetworkConfig) -> str | None:
    """Returns why networks with these settings cannot be part of a compiled graph; None if they can."""
    kinds = sorted(NOT_COMPILED & {layer.layer_type for _, layer in cfg.all_layers()})
    return f"{' and '.join(kinds)} layers cannot be compiled" if kinds else None


def graph_of(function: Graph, inputs: tuple[Any, ...], on_cpu: bool) -> Graph:
    """Compiles a function of tensors for these inputs and others of their sizes.

    The graph reads tensors anew in each call, and takes inputs of other sizes as an error, but does not see that they
    are of another type. Numbers and layers are those of the first call: whether they have changed is not looked at,
    since that takes longer than the smallest kernels. On a CPU the kernels are called by C++."""
    import torch._dynamo  # a second, which only compiled runs need
    import torch._inductor.config

    torch._dynamo.config.trace_autograd_ops = True
    torch._inductor.config.compile_threads = 1  # others would be processes that outlive the run
    options: dict[str, Any] = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe, "cpp_wrapper": on_cpu}
    # in a function, since a bound method is not taken
    compiled: Any = torch.compile(lambda *given: function(*given), fullgraph=True, dynamic=False, options=options)
    graph: Any = compiled.aot_compile((inputs, {}))
    graph.disable_guard_check()
    return graph


def _count(batch: Any) -> int:
    """Returns the number of samples of a batch, or of observations."""
    obs = batch["obs"] if isinstance(batch, dict) else batch
    return len(obs) if isinstance(obs, Tensor) else 0


def _types(inputs: tuple[Any, ...]) -> list[torch.dtype]:
    """Returns the types of all tensors."""
    each = [value for one in inputs for value in (one.values() if isinstance(one, dict) else (one,))]
    return [value.dtype for value in each if isinstance(value, Tensor)]


class Gradients:
    """Gradients of a loss with respect to parameters."""

    def __init__(self, loss: Loss, parameters: Sequence[Tensor]) -> None:
        self._loss, self._parameters = loss, parameters
        self._samples: int | None = None
        self._graph: Graph | None = None
        self._of: list[torch.dtype] = []
        """Types of the inputs that the graph is for."""
        self.norm: Tensor | None = None
        """Euclidean norm of the gradients; None if a graph has not computed it with them."""
        self.seconds = 0.0
        """Seconds that compiling took."""

    def __call__(self, *inputs: Any) -> Any:
        """Stores the gradients of loss(*inputs) in the parameters; returns what the loss function gives besides."""
        if _count(inputs[0]) != self._samples or (self._graph is not None and _types(inputs) != self._of):
            loss, besides = self._loss(*inputs)
            loss.backward(inputs=self._parameters)
            self.norm = None
            return besides
        if self._graph is None:
            began = time.perf_counter()
            self._of = _types(inputs)
            self._graph = graph_of(self._with_gradients, inputs, self._parameters[0].device.type == "cpu")
            self.seconds = time.perf_counter() - began
        gradients, self.norm, besides = self._graph(*inputs)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        return besides

    def compile(self, samples: int) -> None:
        """Compiles loss and gradients with the next call for so many samples. A minibatch of another size, such as the
        last one of an epoch, or with tensors of another type has them by autograd: each would be compiled anew."""
        self._samples = samples

    def _with_gradients(self, *inputs: Any) -> tuple[tuple[Tensor, ...], Tensor, Any]:
        loss, besides = self._loss(*inputs)
        gradients = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        squares = [gradient.square().sum() for gradient in gradients if gradient is not None]
        return gradients, torch.stack(squares).sum().sqrt(), besides
