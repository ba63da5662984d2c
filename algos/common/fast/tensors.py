"""Operations on lists of tensors, all of a list in one call as torch's optimizers do or one after the other; and copies
of arrays on the device that learns."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
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


def on_both(tensor: Tensor, device: torch.device) -> dict[str, Tensor]:
    """Returns a constant on the CPU, which acts, and on the device that learns, by the types of these devices."""
    return {"cpu": tensor, device.type: tensor.to(device)}


def on_device(array: np.ndarray | Tensor, device: torch.device) -> Tensor:
    """Returns an array as a tensor on the device. To a GPU it is copied from page-locked memory, while the program goes
    on; torch keeps that memory until the copy is done. A tensor is returned as it is: it must be on the device."""
    if isinstance(array, Tensor):
        return array
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


ALIGNED = 256
"""Bytes at whose multiples tensors begin that share memory on a GPU, as its kernels want them."""


def columns_on_device(columns: Mapping[str, np.ndarray | Tensor], device: torch.device) -> dict[str, Tensor]:
    """Returns columns as tensors on the device. To a GPU all go in one copy: starting one takes longer than its bytes
    do."""
    if device.type == "cpu":
        return {n: column if isinstance(column, Tensor) else torch.from_numpy(column) for n, column in columns.items()}
    arrays = {name: column for name, column in columns.items() if not isinstance(column, Tensor)}
    begins, size = {}, 0
    for name, array in arrays.items():
        begins[name] = size
        size += -(-array.nbytes // ALIGNED) * ALIGNED
    packed = torch.empty(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
    here = packed.numpy()
    for name, array in arrays.items():
        here[begins[name] : begins[name] + array.nbytes].view(array.dtype).reshape(array.shape)[...] = array
    there = packed.to(device, non_blocking=True)
    return {
        name: column if isinstance(column, Tensor) else _part(there, begins[name], column)
        for name, column in columns.items()
    }


def _part(memory: Tensor, begin: int, column: np.ndarray) -> Tensor:
    """Returns the tensor of a column in memory that several share."""
    kind = torch.from_numpy(np.empty(0, column.dtype)).dtype
    return memory[begin : begin + column.nbytes].view(kind).view(column.shape)
