"""Gradients of a loss, by autograd or from one compiled graph (general_cfg.compile)."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from algos.common.settings import NetworkConfig

Loss = Callable[..., tuple[Tensor, Any]]
"""Function of tensors, or of dicts of them, to a loss and whatever else the update needs, without gradients."""
NOT_COMPILED = frozenset({"lstm", "gru", "custom", "dropout", "batchrenorm"})
"""Layers that draw random numbers, change statistics, loop over steps, or are the user's own."""


def uncompiled_layers(cfg: NetworkConfig) -> str | None:
    """Returns why networks with these settings cannot be part of a compiled graph; None if they can."""
    kinds = sorted(NOT_COMPILED & {layer.layer_type for _, layer in cfg.all_layers()})
    return f"{' and '.join(kinds)} layers cannot be compiled" if kinds else None


def _count(batch: Any) -> int:
    """Returns the number of samples of a batch, or of observations."""
    obs = batch["obs"] if isinstance(batch, dict) else batch
    return len(obs) if isinstance(obs, Tensor) else 0


class Gradients:
    """Gradients of a loss with respect to parameters."""

    def __init__(self, loss: Loss, parameters: Sequence[Tensor]) -> None:
        self._loss, self._parameters = loss, parameters
        self._compiled: Callable[..., tuple[tuple[Tensor, ...], Any]] | None = None
        self._samples = 0
        self.seconds = 0.0
        """Time that the first compiled call took: that of compiling."""

    def __call__(self, *inputs: Any) -> Any:
        """Stores the gradients of loss(*inputs) in the parameters; returns what the loss function gives besides."""
        if self._compiled is None or _count(inputs[0]) != self._samples:
            loss, besides = self._loss(*inputs)
            loss.backward(inputs=self._parameters)
            return besides
        began = time.perf_counter()
        gradients, besides = self._compiled(*inputs)
        self.seconds = self.seconds or time.perf_counter() - began
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        return besides

    def compile(self, samples: int) -> None:
        """Compiles loss and gradients with the next call for so many samples. A minibatch of another size, such as the
        last one of an epoch, has them by autograd: each size would be compiled anew.

        Before each call torch looks whether what the graph depends on is still the same: the settings and tensors of
        the agent, but not the layers of its networks, which takes longest and which must not change. On a CPU the
        kernels are called by C++ instead of Python. Both together are a twentieth of an update."""
        import torch._dynamo  # a second, which only compiled runs need
        import torch._inductor.config

        torch._dynamo.config.trace_autograd_ops = True
        torch._inductor.config.compile_threads = 1  # others would be processes that outlive the run
        self._samples = samples
        options: dict[str, Any] = {"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe}
        if self._parameters[0].device.type == "cpu":
            options["cpp_wrapper"] = True
        self._compiled = torch.compile(  # type: ignore[call-overload]
            self._with_gradients,
            fullgraph=True,
            dynamic=False,
            options=options,
            isolate_recompiles=True,  # otherwise another agent with equal sizes would get this graph, and these layers
        )

    def _with_gradients(self, *inputs: Any) -> tuple[tuple[Tensor, ...], Any]:
        loss, besides = self._loss(*inputs)
        return torch.autograd.grad(loss, self._parameters, allow_unused=True), besides
