"""Operations on lists of tensors: all of a list in one call, as torch's optimizers do, or one after the other."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from algos.common.fast import switch

ON = switch.on("lists")


def _norms(tensors: list[Tensor]) -> list[Tensor]:
    return [torch.linalg.vector_norm(tensor) for tensor in tensors]


def _multiply(tensors: list[Tensor], factor: Tensor | float) -> None:
    for tensor in tensors:
        tensor.mul_(factor)


def _pairwise(operation: Callable[..., Any]) -> Callable[..., None]:
    def of_lists(targets: list[Tensor], others: list[Tensor], *numbers: float) -> None:
        for target, other in zip(targets, others, strict=True):
            operation(target, other, *numbers)

    return of_lists


norms: Callable[..., Any] = torch._foreach_norm if ON else _norms
multiply: Callable[..., None] = torch._foreach_mul_ if ON else _multiply
copy: Callable[..., None] = torch._foreach_copy_ if ON else _pairwise(Tensor.copy_)
lerp: Callable[..., None] = torch._foreach_lerp_ if ON else _pairwise(Tensor.lerp_)
