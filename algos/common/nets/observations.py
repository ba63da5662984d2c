"""Observations on their way into a network: raw ones encoded as float features, ahead of the first layer; normalized by
what was seen; random shifts of images in learning (Kostrikov, Yarats and Fergus, 2021)."""

import math
from functools import singledispatch

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from torch import Tensor, nn

from algos.base import UnfitError
from algos.common.fast.tensors import on_device
from algos.common.maths.returns import LIMIT, Moments
from config.model.composite import Composite

Shape = tuple[int, ...]
Front = tuple[list[nn.Module], Shape]
"""Modules that encode the raw column, and the shape of one row of features."""

PIXEL_MAX = 255
CACHED = 2**22
"""Numbers of the observations that are passed through a network at once where there are no gradients: the first layers
of more images, which are many times as large, would be computed in main memory."""


def in_parts(obs: Tensor) -> tuple[Tensor, ...]:
    """Splits observations [B, ...] into parts of CACHED numbers at most, or of one observation."""
    return obs.split(max(1, CACHED // max(1, math.prod(obs.shape[1:]))))


class NetworkError(UnfitError):
    """Raised for layer lists that do not fit the observation, or whose layers do not fit together."""


class ToFloat(nn.Module):
    """[B, ...] of any type -> float32."""

    def forward(self, x: Tensor) -> Tensor:
        return x.float()


class Scale(nn.Module):
    """Whole numbers 0..top -> float32 0..1."""

    def __init__(self, top: float) -> None:
        super().__init__()
        self.top = top

    def forward(self, x: Tensor) -> Tensor:
        return x / self.top


class ChannelsFirst(nn.Module):
    """[B, ..., height, width, channels] -> [B, ..., channels, height, width]."""

    def forward(self, x: Tensor) -> Tensor:
        return x.movedim(-1, -3)


class OneHot(nn.Module):
    """[B] or [B, k] whole numbers -> [B, sum of sizes] zeros and ones."""

    start: Tensor
    column: Tensor
    value: Tensor

    def __init__(self, sizes: list[int], start: list[int]) -> None:
        super().__init__()
        first = torch.tensor(start)
        repeats = torch.tensor(sizes)
        self.count = len(sizes)
        self.register_buffer("column", torch.repeat_interleave(torch.arange(self.count), repeats), persistent=False)
        values = [torch.arange(size) + begin for size, begin in zip(sizes, first, strict=True)]
        self.register_buffer("value", torch.cat(values), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(x.shape[0], self.count)
        return ((rows if self.count == 1 else rows.index_select(1, self.column)) == self.value).float()


class FlatAction(nn.Module):
    """Flat actions [B, W] of a Tuple or Dict -> the numbers of their Boxes, followed by their choices as zeros and
    ones."""

    numbers: Tensor
    columns: Tensor

    def __init__(self, space: Composite) -> None:
        super().__init__()
        columns, sizes = space.choices.column, space.choices.size.tolist()
        self.register_buffer("numbers", torch.as_tensor(space.box_columns), persistent=False)
        self.register_buffer("columns", torch.as_tensor(columns), persistent=False)
        self.choices = OneHot(sizes, [0] * len(sizes)) if sizes else None

    def forward(self, x: Tensor) -> Tensor:
        numbers = x[:, self.numbers].float()
        return numbers if self.choices is None else torch.cat([numbers, self.choices(x[:, self.columns])], 1)


class Index(nn.Module):
    """A Discrete observation [B] -> row numbers [B] of a table."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def forward(self, x: Tensor) -> Tensor:
        return x - self.start


class Join(nn.Module):
    """Splits a flattened observation [B, D] into its parts, passes each through its branch, concatenates the
    results. Parts without a span are left out."""

    def __init__(self, branches: list[nn.Module], spans: list[tuple[int, int]]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        self.spans = spans

    def forward(self, x: Tensor) -> Tensor:
        pairs = zip(self.branches, self.spans, strict=True)
        return torch.cat([branch(x[:, start:stop]) for branch, (start, stop) in pairs], 1)

    def extra_repr(self) -> str:
        return f"spans={self.spans}"  # two of other parts are not one function


def has_pixels(space: Box) -> bool:
    """Returns True if a Box holds pixels: bytes, or an image converted to float that kept the bounds of bytes."""
    if space.dtype == np.uint8:
        return True
    return len(space.shape) >= 2 and bool(np.all(space.low == 0) and np.all(space.high == PIXEL_MAX))


def is_channel_last(shape: Shape) -> bool:
    """Returns True if an image (a, b, c) is height x width x channels, by equal sides first, then by usual channels."""
    first, middle, last = shape[-3:]
    if first == middle or middle == last:
        return first == middle and middle != last
    return last in (1, 3, 4) and first not in (1, 3, 4)


def values(space: Box) -> list[nn.Module]:
    """Returns the modules from stored to float32 values; none if they are float32 already."""
    if has_pixels(space):
        return [Scale(max(1.0, float(space.high.max())))]
    return [] if space.dtype == np.float32 else [ToFloat()]


def layout(space: Box) -> Front:
    """Returns the modules from the stored shape to a vector (D,) or an image (channels, height, width).

    Two dimensions are an image where they hold pixels; a stack of images is one image with more channels.
    """
    shape = tuple(int(side) for side in space.shape)
    if len(shape) == 2 and has_pixels(space):
        return [nn.Unflatten(1, (1, shape[0]))], (1, *shape)
    if not shape:
        return [nn.Unflatten(0, (-1, 1))], (1,)
    if len(shape) not in (3, 4):
        return ([nn.Flatten()] if len(shape) > 1 else []), (math.prod(shape),)
    modules: list[nn.Module] = []
    if is_channel_last(shape):
        modules.append(ChannelsFirst())
        shape = (*shape[:-3], shape[-1], *shape[-3:-1])
    if len(shape) == 4:
        modules.append(nn.Flatten(1, 2))
        shape = (shape[0] * shape[1], *shape[2:])
    return modules, shape


@singledispatch
def encode(space: Space, normalizer: nn.Module | None = None) -> Front:
    """Returns the modules from the raw column of this space to float features, and the shape of the features."""
    raise NetworkError(
        "a network cannot read {space}; it reads Box, Discrete, MultiDiscrete and MultiBinary", space=space
    )


@encode.register
def _box(space: Box, normalizer: nn.Module | None = None) -> Front:
    modules, shape = layout(space)
    return [*([normalizer] if normalizer else values(space)), *modules], shape


@encode.register
def _discrete(space: Discrete, normalizer: nn.Module | None = None) -> Front:
    return [OneHot([int(space.n)], [int(space.start)])], (int(space.n),)


@encode.register
def _multi_discrete(space: MultiDiscrete, normalizer: nn.Module | None = None) -> Front:
    sizes = [int(size) for size in space.nvec.ravel()]
    return [OneHot(sizes, [int(start) for start in space.start.ravel()])], (sum(sizes),)


@encode.register
def _multi_binary(space: MultiBinary, normalizer: nn.Module | None = None) -> Front:
    return [ToFloat(), *([nn.Flatten()] if len(space.shape) > 1 else [])], (math.prod(space.shape),)


@encode.register
def _composite(space: Composite, normalizer: nn.Module | None = None) -> Front:
    return [FlatAction(space)], (len(space.box_columns) + space.choices.entries,)


def part_space(space: Box, start: int, stop: int, shape: Shape) -> Box:
    """Returns the Box of one part of a flattened Dict or Tuple."""
    low, high = space.low[start:stop].reshape(shape), space.high[start:stop].reshape(shape)
    return Box(low, high, dtype=space.dtype.type)


class Normalizer(nn.Module):
    """Observations [B, ...] -> (observations - mean) / deviation, clipped to -limit..limit, float32."""

    shift: Tensor
    factor: Tensor

    def __init__(self, shape: tuple[int, ...], limit: float = LIMIT) -> None:
        super().__init__()
        self.moments, self.limit = Moments(shape), limit
        self.register_buffer("shift", torch.zeros(shape))
        self.register_buffer("factor", torch.ones(shape))

    def forward(self, x: Tensor) -> Tensor:
        return ((x.float() - self.shift) * self.factor).clamp_(-self.limit, self.limit)

    def update(self, obs: Tensor, valid: Tensor | None = None) -> None:
        """Updates the statistics with raw observations [..., *shape]; rows with valid [...] False do not count."""
        rows = obs.reshape(-1, *self.shift.shape)
        self.moments.update(rows if valid is None else rows[valid.reshape(-1)])
        self.shift.copy_(self.moments.mean)
        self.factor.copy_(1.0 / self.moments.deviation())


def normalizer_for(space: Space, device: torch.device | str = "cpu") -> Normalizer | None:
    """Returns the normalizer of an observation space; None for discrete observations, which have no mean."""
    return Normalizer(space.shape).to(device) if isinstance(space, Box) else None


class RandomShift:
    """Moves each image by up to `most` pixels, up or down and to the left or right; what comes in at an edge repeats
    the edge. All frames of an observation move together, as do all steps of a sequence."""

    def __init__(self, space: object, most: int) -> None:
        """space: of the observations. Raises NetworkError if they are no images."""
        shape = space.shape if isinstance(space, Box) else ()
        image = isinstance(space, Box) and (len(shape) in (3, 4) or (len(shape) == 2 and has_pixels(space)))
        if not image:
            raise NetworkError("algo_cfg.random_shift: is for images, and an observation is {space}", space=space)
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
