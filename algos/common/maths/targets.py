"""Target networks: slowly updated copies of an online network."""

from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn

from algos.common.fast import lists
from algos.common.maths.normalize import Normalizer
from algos.common.nets.custom import Custom, CustomCell
from algos.common.nets.layers import RandomZeros
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
    lists.lerp(target, online, tau)


def follow(target: list[Tensor], online: list[Tensor], cfg: TargetConfig, updates: int) -> None:
    """Updates the target network every target_update updates; `updates` is the agent's saved counter."""
    if updates % cfg.target_update == 0:
        soft_update(target, online, cfg.tau)
