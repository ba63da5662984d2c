"""Storage of the frames of a replay memory: one array, also with a copy on the device that learns, or compressed."""

import zlib
from typing import Protocol

import numpy as np
import torch

from algos.base import on_device
from envs.base import Array

LEVEL = 1
"""Level of zlib: the fastest one."""


class FrameStore(Protocol):
    """Frames by their numbers. Those that have not been written are of zeros."""

    @property
    def nbytes(self) -> int:
        """Size of the frames that have been written."""

    def read(self, numbers: Array) -> Array:
        """Returns copies [..., values] of the frames with these numbers [...]."""

    def write(self, numbers: Array, frames: Array) -> None:
        """Writes frames [M, values] with these numbers [M]."""


class Plain:
    """Frames in one array. Its size is taken from the machine page by page, as it is filled."""

    def __init__(self, values: int, dtype: np.dtype, room: int) -> None:
        self._whole = np.zeros((room, values), dtype)
        self._end = 0

    @property
    def nbytes(self) -> int:
        return self._whole[: self._end].nbytes

    def read(self, numbers: Array) -> Array:
        return self._whole.take(numbers, axis=0)

    def write(self, numbers: Array, frames: Array) -> None:
        self._end = max(self._end, int(numbers.max(initial=-1)) + 1)
        if self._end > len(self._whole):
            # no other array is a view of this one, so that it can be extended in place
            self._whole.resize((self._end + self._end // 16, self._whole.shape[1]), refcheck=False)
        self._whole[numbers] = frames


class Mirrored(Plain):
    """Frames in one array, and once more on the device that learns, so that no sample is copied there."""

    def __init__(self, values: int, dtype: np.dtype, room: int, device: torch.device) -> None:
        super().__init__(values, dtype, room)
        self._device = device
        self._there = torch.from_numpy(self._whole[:0]).to(device)

    def write(self, numbers: Array, frames: Array) -> None:
        super().write(numbers, frames)
        if (more := len(self._whole) - len(self._there)) > 0:
            self._there = torch.cat([self._there, self._there.new_zeros((more, self._there.shape[1]))])
        self._there[self._placed(numbers)] = on_device(frames, self._device)

    def there(self, numbers: Array) -> torch.Tensor:
        """Returns copies [..., values] of the frames with these numbers [...] on the device."""
        return self._there[self._placed(numbers)]

    def _placed(self, numbers: Array) -> torch.Tensor:
        return on_device(numbers.astype(np.int64), self._device)


class Compressed:
    """Frames as compressed bytes."""

    def __init__(self, values: int, dtype: np.dtype) -> None:
        self._values, self._dtype = values, dtype
        self._zeros = zlib.compress(bytes(values * dtype.itemsize), LEVEL)
        self._whole: list[bytes] = [self._zeros]

    @property
    def nbytes(self) -> int:
        return sum(map(len, self._whole)) + len(self._whole) * (_OF_BYTES + 8)

    def read(self, numbers: Array) -> Array:
        used, place = np.unique(numbers, return_inverse=True)
        frames = np.empty((len(used), self._values), self._dtype)
        for frame, number in zip(frames, used.tolist(), strict=True):
            frame[:] = np.frombuffer(zlib.decompress(self._whole[number]), self._dtype)
        return frames[place.reshape(numbers.shape)]

    def write(self, numbers: Array, frames: Array) -> None:
        self._whole += [self._zeros] * (int(numbers.max(initial=-1)) + 1 - len(self._whole))
        for number, frame in zip(numbers.tolist(), frames, strict=True):
            self._whole[number] = zlib.compress(frame, LEVEL)


_OF_BYTES = b"".__sizeof__()
"""Size of Python's object without its bytes; a list has 8 more for each."""
