"""Copies of arrays on the device that learns."""

import numpy as np
import torch
from torch import Tensor


def on_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Returns an array as a tensor on the device. To a GPU it is copied from page-locked memory, while the program goes
    on; torch keeps that memory until the copy is done."""
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)
