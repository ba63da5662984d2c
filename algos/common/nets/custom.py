"""Layers of the user's own: how they are made, measured and called."""

from typing import Any

import torch
from torch import Tensor, nn

from algos.common.parts import own_loss

Shape = tuple[int, ...]
ROWS = 2
"""Rows of the zeros that measure a layer: one would hide that it drops the axis of the rows."""


def learns(layer: nn.Module) -> bool:
    """Returns True while a layer learns, which then does something else than while it acts: where gradients are
    recorded, and always in a target network, which never acts (algos.common.maths.targets)."""
    return bool(layer.of_target) or torch.is_grad_enabled()


class Custom(nn.Module):
    """A module of the user's own. It is in training mode only while it learns, as our own dropout is, so that acting
    draws nothing."""

    of_target = False

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        return _in_mode(self.module, learns(self))(x)


class CustomCell(nn.Module):
    """A recurrent module of the user's own: steps [T, B, D] from state [B, S] -> outputs [T, B, ...], state after the
    last step."""

    of_target = False

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.state_size: int = _state_size(module)

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        out, after = _in_mode(self.module, learns(self)).run(x, state)
        return out, after


def _in_mode(module: Any, learning: bool) -> Any:
    if module.training is not learning:
        module.train(learning)
    return module


def made(kind: type[nn.Module], shape: Shape, options: dict[str, Any]) -> tuple[Custom | CustomCell, Shape]:
    """Returns a layer for inputs [B, *shape], and the shape of its output without B, which zeros have found. Raises
    ValueError with the reason if it is unusable. Random numbers that zeros draw are the caller's to put back."""
    try:
        module = kind(shape, **options)
    except Exception as error:  # it may raise anything
        raise ValueError(_text("it could not be made", error)) from error
    layer = CustomCell(module) if callable(getattr(kind, "run", None)) else Custom(module)
    rng = torch.get_rng_state()
    try:
        with torch.no_grad():
            out = _shape_of(layer, shape)
        own_loss.mark(layer)
        return layer, out
    finally:
        torch.set_rng_state(rng)


def _state_size(module: nn.Module) -> int:
    size = getattr(module, "state_size", None)
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"it has run, and state_size is {size}; expected the numbers that it carries, a whole number")
    return size


def _shape_of(layer: Custom | CustomCell, shape: Shape) -> Shape:
    """Returns the shape of the output for zeros, without the axes of steps and rows."""
    batch = (ROWS,) if isinstance(layer, Custom) else (1, ROWS)
    x = torch.zeros(*batch, *shape)
    try:
        out, state = (layer(x), None) if isinstance(layer, Custom) else layer.run(x, _state(layer))
    except Exception as error:  # it may raise anything
        raise ValueError(_text(f"zeros {tuple(x.shape)} cannot pass", error)) from error
    if isinstance(layer, CustomCell) and getattr(state, "shape", None) != _state(layer).shape:
        found = tuple(getattr(state, "shape", ()))
        raise ValueError(f"run gives a state of shape {found}; expected {tuple(_state(layer).shape)}")
    return _checked(out, batch)


def _state(cell: CustomCell) -> Tensor:
    return torch.zeros(ROWS, cell.state_size)


def _checked(out: Any, batch: Shape) -> Shape:
    """Returns the shape of an output without its first axes, which must be these."""
    axes = len(batch)
    if not isinstance(out, Tensor) or not out.is_floating_point():
        raise ValueError(f"it gives {getattr(out, 'dtype', type(out).__name__)}; expected a tensor of floats")
    if tuple(out.shape[:axes]) != batch or out.dim() <= axes:
        expected = ", ".join([*map(str, batch), "width"])
        raise ValueError(f"it gives shape {tuple(out.shape)} for {ROWS} rows; expected ({expected})")
    return tuple(out.shape[axes:])


def _text(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__}: {' '.join(str(error).split())}"
