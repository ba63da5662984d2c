"""Optimizers beside Adam, whose steps can be compiled as Adam's are."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algos.common.fast.adam import FusedAdam
from algos.common.fast.tensors import on_device

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
