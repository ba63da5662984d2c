"""A list of modules under construction."""

import math

from torch import nn

from algos.common.nets.encoder import NetworkError, Shape


class Chain:
    """Modules so far, with the shape of their output and a description for error messages."""

    def __init__(self, modules: list[nn.Module], shape: Shape, text: str | None = None) -> None:
        self.modules, self.shape, self.text = modules, shape, text or str(shape)

    def grow(self, label: str, shape: Shape, *modules: nn.Module) -> None:
        self.modules.extend(modules)
        self.shape = shape
        self.text += f" -{label}-> {shape}"

    def flatten(self) -> None:
        if len(self.shape) > 1:
            self.grow("flatten", (math.prod(self.shape),), nn.Flatten())

    def error(self, label: str, reason: str) -> NetworkError:
        return NetworkError(f"{self.text} -{label}-> does not fit: {reason}")
