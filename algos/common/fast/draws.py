"""Random numbers within a gradient step: drawn in it by autograd, and before each call of a program that makes it
(program.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Generator = np.random.Generator | torch.Generator
Make = Callable[[], Tensor]
"""Draws a tensor, of the same sizes and type at every call."""

recorder: Callable[[Generator, Make], Tensor] | None = None
"""Takes the draws while a step is written down."""


def drawn(rng: Generator, make: Make) -> Tensor:
    """Returns what `make` draws from rng, which may depend on no tensor of the step."""
    return make() if recorder is None else recorder(rng, make)


def of_torch(device: torch.device) -> torch.Generator:
    """Returns the generator that torch draws from on a device."""
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def state_of(rng: Generator) -> Any:
    """Returns the state of a generator."""
    return rng.get_state() if isinstance(rng, torch.Generator) else rng.bit_generator.state


def set_state(rng: Generator, state: Any) -> None:
    """Gives a generator an earlier state."""
    if isinstance(rng, torch.Generator):
        rng.set_state(state)
    else:
        rng.bit_generator.state = state
