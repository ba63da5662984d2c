"""Meanings of the network's outputs for an action: the contract, and the expected return.

M samples, A actions, K atoms of a distribution. Outputs are [M, A] for a number and [M, A, K] for a distribution.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.nets.layers import Features, value_layer

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


class Head(Protocol):
    """One meaning of the outputs."""

    METRICS: ClassVar[tuple[str, ...]]
    """Names of the metrics that `target` returns."""

    def layer(self, features: Features) -> nn.Module:
        """Builds the output layer of the online network; the target network has a copy."""

    def values(self, out: Tensor) -> Tensor:
        """Returns the expected returns [M, A] of the outputs."""

    def target(self, after: Successor) -> tuple[Tensor, Metrics]:
        """Returns the target of the output for the action taken, [M] or [M, K], and metrics of it."""

    def loss(self, out: Tensor, action: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the loss of each sample [M], and its TD error [M] for the priorities."""

    def warning(self, metrics: Mapping[str, float]) -> str | None:
        """Returns a sentence for the user if these means of METRICS show that a setting is wrong."""


def of_action(out: Tensor, action: Tensor) -> Tensor:
    """Returns the outputs [M] or [M, K] for one action [M] of each sample."""
    if out.ndim == 2:
        return out.gather(1, action.unsqueeze(1)).squeeze(1)
    return out.gather(1, action.view(-1, 1, 1).expand(-1, 1, out.shape[2])).squeeze(1)


def soft_value(values: Tensor, temperature: float) -> Tensor:
    """Returns T log sum_a exp(Q(s, a) / T) [M]: the value of a state under maximum entropy (Haarnoja et al., 2017,
    equation 5)."""
    return temperature * torch.logsumexp(values / temperature, 1)


class Scalar:
    """The expected return itself."""

    METRICS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, cfg: Any, actions: int, device: torch.device) -> None:
        self.cfg, self.actions = cfg, actions
        self.penalty = F.smooth_l1_loss if cfg.loss == "huber" else F.mse_loss

    def layer(self, features: Features) -> nn.Module:
        return value_layer(features, self.actions, dueling=self.cfg.dueling, std_init=std_init(self.cfg))

    def values(self, out: Tensor) -> Tensor:
        return out

    def target(self, after: Successor) -> tuple[Tensor, Metrics]:
        """Returns r + discount V(s'), where V is the value of the best next action, or the soft value."""
        if self.cfg.soft:
            value = soft_value(after.value, self.cfg.temperature)
        elif after.chooser is None:
            value = after.value.amax(1)
        else:
            value = of_action(after.value, after.best())
        return torch.addcmul(after.reward, after.discount, value), {}

    def loss(self, out: Tensor, action: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        chosen = of_action(out, action)
        return self.penalty(chosen, target, reduction="none"), (target - chosen.detach()).abs()

    def warning(self, metrics: Mapping[str, float]) -> str | None:
        return None


def std_init(cfg: Any) -> float | None:
    """Returns the initial noise of the output layer; None for a plain one."""
    return cfg.std_init if cfg.noisy else None
