"""A step down the gradient of a loss, by autograd or as one compiled graph (general_cfg.compile)."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from algos.common.fast import compiler
from algos.common.fast.adam import FusedAdam
from algos.common.nets import custom
from algos.common.parts.optim import Optimizer, Reduce, apply_gradients, clip_factor, parameters_of
from algos.common.settings import NetworkConfig
from config.tell.language import tr

Loss = Callable[..., tuple[Tensor, Any]]
"""Function of tensors, or of dicts of them, to a loss and whatever else the update needs, without gradients."""


class Outcome(NamedTuple):
    """Second value of a loss function, without gradients."""

    metrics: dict[str, Tensor]
    per_sample: Tensor | None = None
    """Number of each sample [M] that the update needs, such as its priority."""


NOT_COMPILED = frozenset({"lstm", "gru", "custom", "dropout", "batchrenorm"})
"""Layers that draw random numbers, change statistics, loop over steps, or are the user's own."""


def uncompiled(cfg: NetworkConfig) -> str | None:
    """Returns why steps of networks with these settings cannot be compiled; None if they can."""
    if not cfg.optimizer.startswith("adam"):
        name = cfg.optimizer
        return tr("steps of optimizer {name} cannot be compiled, only those of adam and adamw", name=name)
    kinds = sorted(NOT_COMPILED & {layer.layer_type for _, layer in cfg.all_layers()})
    return tr("{kinds} layers cannot be compiled", kinds=tr(" and ").join(kinds)) if kinds else None


def _count(batch: Any) -> int:
    """Returns the number of samples of a batch, or of observations."""
    obs = batch["obs"] if isinstance(batch, dict) else batch
    return len(obs) if isinstance(obs, Tensor) else 0


def _types(inputs: tuple[Any, ...]) -> list[torch.dtype]:
    """Returns the types of all tensors."""
    values = [value for part in inputs for value in (part.values() if isinstance(part, dict) else (part,))]
    return [value.dtype for value in values if isinstance(value, Tensor)]


class GradientStep:
    """A step of an optimizer that lowers a loss: by autograd, or as one graph that has been compiled."""

    def __init__(self, loss: Loss, optimizer: Optimizer, max_norm: float | None) -> None:
        """optimizer: over all parameters that learn from this loss. max_norm: of the gradients; None for any."""
        self._loss, self._optimizer, self._max_norm = loss, optimizer, max_norm
        self._parameters = parameters_of(optimizer)
        self._own_losses = bool(custom.owners_of(self._parameters))
        """True if layers of the user's own add to the loss."""
        self._samples: int | None = None
        self._graph: compiler.Graph | None = None
        self._of: list[torch.dtype] = []
        """Types of the inputs that the graph is for."""
        self.seconds = 0.0
        """Seconds that compiling took."""
        self.compiles = False
        """True while it is compiled."""

    def __call__(self, *inputs: Any, reduce: Reduce) -> Any:
        """Takes one gradient step on loss(*inputs); returns the second value of the loss function. reduce:
        averages gradients over the learners that share a batch, of which a graph has only one."""
        if _count(inputs[0]) == self._samples and (self._graph is None or _types(inputs) == self._of):
            return self.by_graph(*inputs)
        loss, extra = self._loss(*inputs)
        if self._own_losses:
            loss = custom.completed(loss, self._parameters, inputs[0])
        loss.backward(inputs=self._parameters)
        apply_gradients(self._optimizer, self._parameters, self._max_norm, reduce)
        return extra

    def compile(self, samples: int) -> None:
        """Compiles the whole step with the next call for this number of samples, if the optimizer is Adam. A minibatch
        of another size, such as the last one of an epoch, or with tensors of another type is learned by autograd: each
        would be compiled anew."""
        self._samples = samples if isinstance(self._optimizer, FusedAdam) else None

    def by_graph(self, *inputs: Any) -> Any:
        """Makes the step by the graph, which is compiled with the first one; returns what __call__ returns."""
        assert isinstance(self._optimizer, FusedAdam)
        rates = self._optimizer.count()
        if self._graph is not None:
            self._optimizer.grad_norm, extra = self._graph(rates, *inputs)
            return extra
        began, self.compiles = time.perf_counter(), True
        self._of = _types(inputs)
        self._graph = compiler.graph_of(self._step, (rates, *inputs), self._optimizer.tensors())
        self._optimizer.grad_norm, extra = self._graph(rates, *inputs)  # on a GPU it is compiled now
        self.seconds, self.compiles = time.perf_counter() - began, False
        return extra

    def _step(self, rates: Tensor, *inputs: Any) -> tuple[Tensor, Any]:
        """Makes the step; returns the gradients' norm before clipping, and the second value of the loss function."""
        assert isinstance(self._optimizer, FusedAdam)
        loss, extra = self._loss(*inputs)
        gradients = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        norm = torch.stack([gradient.square().sum() for gradient in gradients if gradient is not None]).sum().sqrt()
        if self._max_norm is not None:
            scale = clip_factor(norm, self._max_norm)
            gradients = tuple(None if gradient is None else gradient * scale for gradient in gradients)
        self._optimizer.move(gradients, rates)
        return norm, extra
