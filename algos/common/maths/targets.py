"""Target networks, slowly updated copies of an online network, and the losses of errors from their targets."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast import tensors
from algos.common.nets.custom import Custom, CustomCell
from algos.common.nets.layers import RandomZeros
from algos.common.nets.observations import Normalizer
from algos.common.settings import TargetConfig

Module = TypeVar("Module", bound=nn.Module)


def freeze(module: Module) -> Module:
    """Makes a module a target network: without gradients, and with dropout, as the network has that learns from it."""
    for layer in module.modules():
        if isinstance(layer, RandomZeros | Custom | CustomCell):
            layer.of_target = True
    return module.requires_grad_(False)


def frozen_copy(module: Module) -> Module:
    """Returns a target network: a copy without gradients that shares the observation statistics."""
    shared = {id(part): part for part in module.modules() if isinstance(part, Normalizer)}
    return freeze(deepcopy(module, shared))


@torch.no_grad()
def soft_update(target: list[Tensor], online: list[Tensor], tau: float) -> None:
    """Computes target = (1 - tau) target + tau online in place, on lists of parameters."""
    tensors.lerp(target, online, tau)


def follow(target: list[Tensor], online: list[Tensor], cfg: TargetConfig, updates: int) -> None:
    """Updates the target network every target_update updates; `updates` is the agent's saved counter."""
    if updates % cfg.target_update == 0:
        soft_update(target, online, cfg.tau)


def of_action(values: Tensor, action: Tensor) -> Tensor:
    """Returns the values [M] or [M, K] of one action [M] of each sample, from all values [M, A] or [M, A, K]."""
    if values.ndim == 2:
        return values.gather(1, action.unsqueeze(1)).squeeze(1)
    return values.gather(1, action.view(-1, 1, 1).expand(-1, 1, values.shape[2])).squeeze(1)


def penalty(cfg: Any) -> Callable[..., Tensor]:
    """Returns the loss of errors that the setting `loss` names."""
    return F.smooth_l1_loss if cfg.loss == "huber" else F.mse_loss


def td_loss(q: Tensor, target: Tensor, weight: Tensor | None, huber: bool) -> Tensor:
    """Returns the loss of the TD errors target [B] - q [n, B]: the mean over the batch, summed over the critics. weight
    [B] are importance sampling weights of prioritized replay."""
    error_loss = F.smooth_l1_loss if huber else F.mse_loss
    target = target.expand_as(q)
    if weight is None:
        return len(q) * error_loss(q, target)
    return (weight * error_loss(q, target, reduction="none")).mean(1).sum()


def priorities(q: Tensor, target: Tensor) -> Tensor:
    """Returns priorities [B]: the mean absolute TD error of the critics q [n, B]."""
    return (target - q.detach()).abs().mean(0)


def soft_value(log_pi: Tensor, q: Tensor, alpha: Tensor) -> Tensor:
    """Returns sum_a pi(a|s) (Q(s, a) - alpha log pi(a|s)) [B] of A numbered actions (equation 10 of Christodoulou,
    2019); log_pi and q are [B, A]."""
    return (log_pi.exp() * (q - alpha * log_pi)).sum(-1)


def entropy_of(log_pi: Tensor) -> Tensor:
    """Returns the entropy [B] of log probabilities [B, A]."""
    return -(log_pi.exp() * log_pi).sum(-1)
