"""Copies of arrays on the device that learns."""

import numpy as np
import torch
from torch import Tensor


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
