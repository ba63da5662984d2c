"""Random shifts of images in learning (Kostrikov, Yarats and Fergus, 2021)."""

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor

from algos.common.fast.tensors import on_device
from algos.common.nets.encoder import NetworkError, has_pixels, is_channel_last
from config.tell.language import tr


class RandomShift:
    """Moves each image by up to `most` pixels, up or down and to the left or right; what comes in at an edge repeats
    the edge. All frames of an observation move together, as do all steps of a sequence."""

    def __init__(self, space: object, most: int) -> None:
        """space: of the observations. Raises NetworkError if they are no images."""
        shape = space.shape if isinstance(space, Box) else ()
        image = isinstance(space, Box) and (len(shape) in (3, 4) or (len(shape) == 2 and has_pixels(space)))
        if not image:
            raise NetworkError(tr("algo_cfg.random_shift: is for images, and an observation is {space}", space=space))
        self.most, self.ndim = most, len(shape)
        last = len(shape) > 2 and is_channel_last(tuple(shape))
        self.axes = (-3, -2) if last else (-2, -1)
        """Axes of height and width."""

    def __call__(self, images: Tensor, rng: np.random.Generator) -> Tensor:
        """Returns images [B, ...] or sequences [L, B, ...], shifted."""
        rows = images.shape[-self.ndim - 1]
        shifts = on_device(rng.integers(-self.most, self.most + 1, (2, rows)), images.device)
        for axis, shift in zip(self.axes, shifts, strict=True):
            images = self._moved(images, axis, shift)
        return images

    def _moved(self, images: Tensor, axis: int, shift: Tensor) -> Tensor:
        size = images.shape[axis]
        index = (torch.arange(size, device=images.device) + shift.unsqueeze(1)).clamp(0, size - 1)  # [B, size]
        shape = [1] * images.ndim
        shape[-self.ndim - 1], shape[axis] = len(index), size
        return images.gather(axis % images.ndim, index.view(shape).expand(images.shape))
