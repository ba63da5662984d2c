"""A module as a user would write it: networks of one's own."""

import numpy as np
import torch
from torch import Tensor, nn


class Trunk(nn.Module):
    """Two layers with dropout and a norm over the batch, which tell if acting is in training mode."""

    def __init__(self, in_shape: tuple[int, ...], width: int = 8, rate: float = 0.0) -> None:
        super().__init__()
        self.body = (
            nn.Sequential(nn.Flatten(), nn.LazyLinear(width)) if len(in_shape) > 1 else nn.Linear(*in_shape, width)
        )
        self.drop = nn.Dropout(rate)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(torch.tanh(self.body(x)))


class Pretrained(nn.Module):
    """A layer whose weights stay, and one that learns."""

    def __init__(self, in_shape: tuple[int, ...], width: int = 8) -> None:
        super().__init__()
        self.given = nn.Linear(*in_shape, width).requires_grad_(False)
        self.learned = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.learned(self.given(x)))


class Image(nn.Module):
    """An image to an image."""

    def __init__(self, in_shape: tuple[int, ...], channels: int = 4) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_shape[0], channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.conv(x))


class Wrong(nn.Module):
    """A width that is written down, and not that of the input; or another fault."""

    def __init__(self, in_shape: tuple[int, ...], fault: str = "width") -> None:
        super().__init__()
        self.fault, self.linear = fault, nn.Linear(10 if fault == "width" else in_shape[0], 4)
        if fault == "init":
            raise RuntimeError("of its own")

    def forward(self, x: Tensor) -> Tensor | np.ndarray | None:
        out = self.linear(x)
        wrong = {"rows": out.mean(0), "flat": out.flatten(), "whole": out.long(), "half": out.half(), "none": None}
        return out.detach().numpy() if self.fault == "numpy" else wrong.get(self.fault, out)


class Spoilt(nn.Module):
    """A layer that fails at the observations of three rows, which only an evaluation has, once it is so set."""

    is_spoilt = False

    def __init__(self, in_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.linear = nn.Linear(*in_shape, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x[:, 1:] if Spoilt.is_spoilt and len(x) == 3 else x)


class Remembers(nn.Module):
    """A cell: a GRU whose state and input pass a layer before."""

    def __init__(self, in_shape: tuple[int, ...], size: int = 16) -> None:
        super().__init__()
        self.state_size = size
        self.cell = nn.GRUCell(*in_shape, size)

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        outs = []
        for step in x:
            state = self.cell(step, state)
            outs.append(state)
        return torch.stack(outs), state


class WrongCell(Remembers):
    """A cell with a fault."""

    def __init__(self, in_shape: tuple[int, ...], fault: str) -> None:
        super().__init__(in_shape)
        self.fault = fault
        if fault == "size":
            del self.state_size

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        out, state = super().run(x, state)
        return {"state": (out, state[:, :3]), "last": (out[-1], state)}[self.fault]


class NoModule:
    """Only a class."""


def function(in_shape: tuple[int, ...]) -> nn.Module:
    return nn.Identity()


class Noisy(nn.Module):
    """A layer with noise, also while it acts: of torch's generator, or of numpy's."""

    def __init__(self, in_shape: tuple[int, ...], source: str = "torch") -> None:
        super().__init__()
        self.linear, self.source = nn.Linear(*in_shape, 8), source

    def forward(self, x: Tensor) -> Tensor:
        out = torch.tanh(self.linear(x))
        return out + (torch.rand_like(out) if self.source == "torch" else float(np.random.rand()))


class Large(nn.Linear):
    """A layer that finds no memory once it learns, as torch says it."""

    def __init__(self, in_shape: tuple[int, ...]) -> None:
        super().__init__(*in_shape, 8)

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 8 TB")
        return super().forward(x)
