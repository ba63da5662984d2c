"""Target networks: slow copies of a network that is learning."""

from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn

from algos.common.normalize import Normalizer
from algos.common.settings import TargetConfig

Module = TypeVar("Module", bound=nn.Module)


def freeze(module: Module) -> Module:
    """The module itself, from now on without gradients."""
    return module.requires_grad_(False)


def frozen_copy(module: Module) -> Module:
    """A target network: own weights without gradients, but the same statistics of the observations."""
    shared = {id(part): part for part in module.modules() if isinstance(part, Normalizer)}
    return freeze(deepcopy(module, shared))


@torch.no_grad()
def soft_update(target: list[Tensor], online: list[Tensor], tau: float) -> None:
    """target = (1 - tau) target + tau online, in place. Both are the lists of the parameters, made once."""
    torch._foreach_lerp_(target, online, tau)


def follow(target: list[Tensor], online: list[Tensor], cfg: TargetConfig, updates: int) -> None:
    """Move the target at each target_update-th update. The count is the agent's own, which it saves."""
    if updates % cfg.target_update == 0:
        soft_update(target, online, cfg.tau)
