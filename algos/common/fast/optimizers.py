"""Optimizers whose steps can be compiled: Adam with torch's fused kernel and minimal overhead, RAdam, and gradient
descent with momentum.

torch.optim.Adam gives the same bits, but its base class imports the compiler, about a second at every start, and spends
another 100 us per step on hooks and bookkeeping.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from algos.common.fast.tensors import on_device

BETAS = (0.9, 0.999)
FRESH = dict.fromkeys(("exp_avg", "exp_avg_sq", "step"), torch.zeros(()))
"""State of a parameter before its first step, for which torch.optim.Adam has none."""


class FusedAdam:
    """Adam or AdamW on CPU or CUDA, with the parts of torch.optim.Optimizer's interface that are used here."""

    grad_norm: Tensor
    """Norm of the gradients of the last step, before clipping."""

    def __init__(
        self,
        parameters: Iterable[Parameter] | list[dict[str, Any]],
        lr: float,
        epsilon: float,
        weight_decay: float,
        decoupled: bool,
        betas: tuple[float, float] = BETAS,
    ) -> None:
        entries = list(parameters)
        grouped = entries if entries and isinstance(entries[0], dict) else [{"params": entries}]
        self.param_groups: list[dict[str, Any]] = [{"lr": lr, **group} for group in grouped]  # type: ignore[dict-item]
        self.epsilon, self.weight_decay, self.betas, self._decoupled = epsilon, weight_decay, betas, decoupled
        self._kernel: Callable[..., None] = torch._fused_adamw_ if decoupled else torch._fused_adam_
        self._moments = [_Moments(group["params"]) for group in self.param_groups]
        self._rates = np.empty((len(self._moments), 3), np.float32)
        self._there: Tensor | None = None
        """Rates on a GPU."""

    @torch.no_grad()
    def step(self) -> None:
        """Makes one step with the gradients of the parameters; parameters without a gradient are unchanged."""
        for group, moments in zip(self.param_groups, self._moments, strict=True):
            params, means, squares, steps = group["params"], moments.means, moments.squares, moments.steps
            grads = [p.grad for p in params]
            if all(grad is None for grad in grads):
                continue
            if any(grad is None for grad in grads):
                having = [i for i, grad in enumerate(grads) if grad is not None]
                params, grads, means, squares, steps = (
                    [column[i] for i in having] for column in (params, grads, means, squares, steps)
                )
                for step in steps:
                    step.add_(1)
                moments.highest = None
            else:
                moments.next()
                moments.counts.add_(1)
            lr = float(np.float32(group["lr"])) if moments.counts.is_cuda else group["lr"]  # as `move` has it
            self._by_kernel(params, grads, means, squares, steps, lr)

    def zero_grad(self) -> None:
        """Clears the gradients."""
        for parameter in (parameter for group in self.param_groups for parameter in group["params"]):
            parameter.grad = None

    def _by_kernel(
        self,
        params: Sequence[Tensor],
        grads: Sequence[Tensor],
        means: Sequence[Tensor],
        squares: Sequence[Tensor],
        steps: Sequence[Tensor],
        lr: float | Tensor,
    ) -> None:
        self._kernel(
            params,
            grads,
            means,
            squares,
            [],
            steps,
            lr=lr,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=self.weight_decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
        if params[0].is_cuda:  # the kernel does not count its change, which a copy that acts must see
            torch.autograd.graph.increment_version(params)

    def rates(self) -> Tensor:
        """Returns what the next `move` needs of each group [groups, 3]: the bias-corrected learning rate, the bias
        correction of sqrt(v), and 1 - lr * weight_decay. The next call writes over them. A GPU, whose kernel makes the
        corrections, gets the learning rate alone, and only if it has changed."""
        (beta1, beta2), rates, device = self.betas, self._rates, self._moments[0].counts.device
        if device.type != "cpu":
            new = np.array([[group["lr"], 1.0, 1.0] for group in self.param_groups], np.float32)
            if self._there is None or not np.array_equal(new, rates):
                self._rates, self._there = new, on_device(new, device)
            return self._there
        for number, (group, moments) in enumerate(zip(self.param_groups, self._moments, strict=True)):
            steps, lr = moments.next(), group["lr"]
            rates[number] = lr / (1 - beta1**steps), (1 - beta2**steps) ** -0.5, 1 - lr * self.weight_decay
        return on_device(rates, device)

    @torch.no_grad()
    def move(self, gradients: Sequence[Tensor | None], rates: Tensor) -> None:
        """Does what `step` does, in operations that can be compiled, or captured on a GPU; parameters without a
        gradient are unchanged. rates: of `rates`."""
        remaining = iter(gradients)
        for group, moments, of_group in zip(self.param_groups, self._moments, rates.unbind(), strict=True):
            moments.counts.add_(1)
            columns = group["params"], list(islice(remaining, len(moments.means))), moments.means, moments.squares
            if rates.is_cuda:
                counts = (moments.counts + 0).unbind()  # a program has what it changes apart
                having = [row for row in zip(*columns, counts, strict=True) if row[1] is not None]
                if not having:
                    continue
                params, grads, means, squares, steps = map(list, zip(*having, strict=True))
                self._by_kernel(params, list(map(_as_stored, grads, params)), means, squares, steps, of_group[0])
                continue
            rate, correction, left = of_group.unbind()
            for p, gradient, mean, square in zip(*columns, strict=True):
                if gradient is None:
                    continue
                if self._decoupled:
                    p.mul_(left)
                elif self.weight_decay:
                    gradient = gradient + self.weight_decay * p
                mean.lerp_(gradient, 1 - self.betas[0])
                square.mul_(self.betas[1]).addcmul_(gradient, gradient, value=1 - self.betas[1])
                p.sub_(rate * mean / (square.sqrt() * correction + self.epsilon))

    def state_dict(self) -> dict[str, Any]:
        """Returns the state in the format of torch.optim.Adam: moments by parameter index."""
        entries = [
            {"exp_avg": mean, "exp_avg_sq": square, "step": step}
            for moments in self._moments
            for mean, square, step in moments.by_parameter()
        ]
        groups = [{"lr": group["lr"]} for group in self.param_groups]
        return {"state": dict(enumerate(entries)), "param_groups": groups}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores state_dict()."""
        for group, saved in zip(self.param_groups, state["param_groups"], strict=True):
            group["lr"] = saved["lr"]
        for number, (mean, square, step) in enumerate(
            state for moments in self._moments for state in moments.by_parameter()
        ):
            entry = state["state"].get(number, FRESH)
            mean.copy_(entry["exp_avg"])
            square.copy_(entry["exp_avg_sq"])
            step.copy_(entry["step"])
        for moments in self._moments:
            moments.highest = None


def _as_stored(gradient: Tensor, parameter: Tensor) -> Tensor:
    """Returns a gradient in the order of the parameter's memory, as `backward` leaves it: that of a convolution can
    have its channels last."""
    if gradient.stride() == parameter.stride():
        return gradient
    return torch.empty_like(parameter).copy_(gradient)


class _Moments:
    """First and second moments of a group's gradients, and the number of steps of each parameter."""

    def __init__(self, params: list[Parameter]) -> None:
        self.means, self.squares = ([torch.zeros_like(p, requires_grad=False) for p in params] for _ in range(2))
        self.counts = torch.zeros(len(params), device=params[0].device)
        self.steps = list(self.counts.unbind())
        """Views of `counts`, one per parameter, as the kernel needs them: one addition increments all of them."""
        self.highest: int | None = 0
        """The highest of `counts`, if it is known without asking a GPU, which would wait for it."""

    def next(self) -> int:
        """Returns the number of steps with the one that is made now, which `counts` gets with the others' results."""
        if self.highest is None:
            self.highest = int(self.counts.max())
        self.highest += 1
        return self.highest

    def by_parameter(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yields the moments of each parameter."""
        return zip(self.means, self.squares, self.steps, strict=True)


TRACTABLE = 5.0
"""Length of the approximated average above which the variance of the step is tractable (Liu et al., 2020)."""


class _ByParameter(ABC):
    """The step of an optimizer whose plain step is the one that is compiled."""

    param_groups: list[dict[str, Any]]
    weight_decay: float
    _moments: Any

    @torch.no_grad()
    def step(self) -> None:
        """Makes one step with the gradients of the parameters; parameters without a gradient are unchanged, and their
        steps are counted."""
        gradients = [p.grad for group in self.param_groups for p in group["params"]]
        self.move(gradients, self.rates())

    def rates(self) -> Tensor:
        """Returns what the next `move` needs of each group [groups, 3]."""
        numbers = [
            self._numbers(group["lr"], moments.next())
            for group, moments in zip(self.param_groups, self._moments, strict=True)
        ]
        return on_device(np.array(numbers, np.float32), self._moments[0].counts.device)

    @abstractmethod
    def _numbers(self, lr: float, steps: int) -> tuple[float, float, float]:
        """Returns what `_moved` needs at this step, from 1."""

    @torch.no_grad()
    def move(self, gradients: Sequence[Tensor | None], rates: Tensor) -> None:
        """Moves the parameters; those without a gradient are unchanged. rates: of `rates`."""
        remaining = iter(gradients)
        for group, moments, of_group in zip(self.param_groups, self._moments, rates.unbind(), strict=True):
            numbers, of_params = of_group.unbind(), islice(remaining, len(moments.means))
            moments.counts.add_(1)
            for p, mean, square, gradient in zip(
                group["params"], moments.means, moments.squares, of_params, strict=True
            ):
                if gradient is not None:
                    decayed = gradient + self.weight_decay * p if self.weight_decay else gradient
                    p.sub_(self._moved(decayed, mean, square, *numbers))

    @abstractmethod
    def _moved(self, gradient: Tensor, mean: Tensor, square: Tensor, *numbers: Tensor) -> Tensor:
        """Updates the moments of a parameter; returns by how much it goes down."""


class RectifiedAdam(_ByParameter, FusedAdam):
    """RAdam (Liu et al., 2020): Adam whose adaptive step is scaled by the variance of its length, and left out in the
    first steps."""

    def _numbers(self, lr: float, steps: int) -> tuple[float, float, float]:
        """Returns the bias-corrected learning rate, the factor of the adaptive step, and 1 for a step without it."""
        beta1, beta2 = self.betas
        longest, left = 2.0 / (1.0 - beta2) - 1.0, beta2**steps
        length = longest - 2.0 * steps * left / (1.0 - left)
        rate = lr / (1.0 - beta1**steps)
        if length <= TRACTABLE:
            return rate, 0.0, 1.0
        variance = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        return rate, math.sqrt(variance * (1.0 - left)), 0.0

    def _moved(self, gradient: Tensor, mean: Tensor, square: Tensor, *numbers: Tensor) -> Tensor:
        rate, adaptive, plain = numbers
        mean.lerp_(gradient, 1 - self.betas[0])
        square.mul_(self.betas[1]).addcmul_(gradient, gradient, value=1 - self.betas[1])
        return rate * mean * (adaptive / (square.sqrt() + self.epsilon) + plain)


class Momentum(_ByParameter, FusedAdam):
    """Stochastic gradient descent with a velocity (Polyak, 1964): v = momentum v + gradient, p = p - lr v."""

    def __init__(
        self, parameters: Iterable[Any] | list[dict[str, Any]], lr: float, weight_decay: float, momentum: float
    ) -> None:
        super().__init__(parameters, lr, 0.0, weight_decay, decoupled=False, betas=(momentum, 0.0))
        for moments in self._moments:  # of second moments there are none
            moments.squares = [square.new_zeros(0) for square in moments.squares]

    def _numbers(self, lr: float, steps: int) -> tuple[float, float, float]:
        return lr, 0.0, 0.0

    def _moved(self, gradient: Tensor, mean: Tensor, square: Tensor, *numbers: Tensor) -> Tensor:
        return numbers[0] * mean.mul_(self.betas[0]).add_(gradient)
