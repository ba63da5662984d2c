"""Meanings of the network's outputs for an action: the contract, and the expected return.

M samples, A actions, K atoms of a distribution. Outputs are [M, A] for a number and [M, A, K] for a distribution.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from algos.common.maths.targets import of_action, penalty
from algos.common.nets.layers import Features, value_layer
from config.model.arrays import Array

Metrics = dict[str, Tensor]


class Successor(NamedTuple):
    """Estimates for the next states."""

    reward: Tensor
    """[M], of all steps up to the next state."""
    discount: Tensor
    """[M], gamma^k, and 0 where the state is terminal."""
    out: Tensor
    """Outputs of the target network."""
    value: Tensor
    """Expected returns [M, A] from these outputs; an illegal action has the lowest."""
    chooser: Tensor | None
    """Expected returns [M, A] of the network that selects the next action; None is the target network itself."""

    def best(self) -> Tensor:
        """Returns the next action [M]."""
        return (self.value if self.chooser is None else self.chooser).argmax(1)


class Head(ABC):
    """One meaning of the outputs."""

    METRICS: ClassVar[tuple[str, ...]] = ()
    """Names of the metrics that `target` returns."""

    def __init__(self, cfg: Any, actions: int, device: torch.device) -> None:
        self.cfg, self.actions = cfg, actions
        self.now: Any = cfg
        """Numbers of the settings, which may be schedules, as they are now."""

    def layer(self, features: Features, atoms: int = 1) -> nn.Module:
        """Builds the output layer of the online network, with `atoms` outputs for each action, of which the
        target network has a copy."""
        cfg = self.cfg
        noise = cfg.std_init if cfg.noisy else None
        return value_layer(features, self.actions, atoms, dueling=cfg.dueling, std_init=noise)

    @abstractmethod
    def values(self, out: Tensor) -> Tensor:
        """Returns the expected returns [M, A] of the outputs."""

    def acting_values(self, out: Array) -> Array:
        """Returns the expected returns [N, A] of the outputs of a step, which are arrays."""
        return self.values(torch.from_numpy(out)).numpy()

    @abstractmethod
    def target(self, after: Successor) -> tuple[Tensor, Metrics]:
        """Returns the target of the output for the action taken, [M] or [M, K], and metrics of it."""

    @abstractmethod
    def loss(self, out: Tensor, action: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the loss of each sample [M], and its TD error [M] for the priorities."""

    def warning(self, metrics: Mapping[str, float]) -> str | None:
        """Returns a sentence for the user if these means of METRICS show that a setting is wrong."""
        return None


RESCALED = 1e-3
"""Factor of the linear part of `rescaled`, by which it has a bounded inverse."""


def rescaled(value: Tensor) -> Tensor:
    """Returns h(x) = sign(x) (sqrt(|x| + 1) - 1) + e x (Pohlen et al., 2018): large values become small numbers, which
    a network learns with one learning rate."""
    return value.sign() * ((value.abs() + 1).sqrt() - 1) + RESCALED * value


def restored(number: Tensor) -> Tensor:
    """Returns the value whose `rescaled` is this number. In double precision, since it is the difference of near
    numbers."""
    size = number.double().abs()
    root = ((1 + 4 * RESCALED * (size + 1 + RESCALED)).sqrt() - 1) / (2 * RESCALED)
    return (number.sign() * (root.square() - 1)).to(number.dtype)


def soft_value(values: Tensor, temperature: float | Tensor) -> Tensor:
    """Returns T log sum_a exp(Q(s, a) / T) [M]: the value of a state under maximum entropy (Haarnoja et al., 2017,
    equation 5)."""
    return temperature * torch.logsumexp((values / temperature).clamp(min=torch.finfo(values.dtype).min), 1)


class Scalar(Head):
    """The expected return itself."""

    def values(self, out: Tensor) -> Tensor:
        return out

    def acting_values(self, out: Array) -> Array:
        return out

    def target(self, after: Successor) -> tuple[Tensor, Metrics]:
        """Returns r + discount V(s'), where V is the value of the best next action, or the soft value."""
        if self.cfg.soft:
            value = soft_value(after.value, self.now.temperature)
        elif after.chooser is None:
            value = after.value.amax(1)
        else:
            value = of_action(after.value, after.best())
        if self.cfg.value_rescale:
            return rescaled(torch.addcmul(after.reward, after.discount, restored(value))), {}
        return torch.addcmul(after.reward, after.discount, value), {}

    def loss(self, out: Tensor, action: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        chosen = of_action(out, action)
        return penalty(self.cfg)(chosen, target, reduction="none"), (target - chosen.detach()).abs()
