"""Batch renormalisation (Ioffe, 2017)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from config import schema

EPSILON = 1e-3


class BatchRenorm(nn.Module):
    """[..., B, D] -> the same, normalised over B; shape is (1, D), or (n, 1, D) for the members of an ensemble.

    By running statistics; within batch_statistics() by those of the batch, corrected towards the running ones, which
    learn from it.
    """

    mean: Tensor
    deviation: Tensor
    count: Tensor

    def __init__(self, shape: tuple[int, ...], layer: schema.BatchRenorm) -> None:
        super().__init__()
        self.layer, self.learns = layer, False
        self.weight = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape))
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("deviation", torch.ones(shape))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        factor, shift = self._of_the_batch(x) if self.learns else self._of_the_past()
        return torch.addcmul(self.bias + shift * self.weight, x, factor * self.weight)

    def _of_the_past(self) -> tuple[Tensor, Tensor]:
        """(x - mean) / deviation as x * factor + shift."""
        factor = 1.0 / self.deviation
        return factor, -self.mean * factor

    def _of_the_batch(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(x - batch mean) / batch deviation * r + d, in the same form; no gradient flows through r and d."""
        variance, mean = torch.var_mean(x, -2, correction=0, keepdim=True)
        deviation = (variance + EPSILON).sqrt()
        r, d = self.correction(mean.detach(), deviation.detach())
        self._learn(mean.detach(), deviation.detach())
        factor = r / deviation
        return factor, d - mean * factor

    def correction(self, mean: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
        """r and d of algorithm 1, within their limits; 1 and 0 before the end of the warm-up."""
        layer, warm = self.layer, self.count >= self.layer.warmup
        r = (deviation / self.deviation).clamp(1.0 / layer.r_max, layer.r_max)
        d = ((mean - self.mean) / self.deviation).clamp(-layer.d_max, layer.d_max)
        return torch.where(warm, r, 1.0), torch.where(warm, d, 0.0)

    @torch.no_grad()
    def _learn(self, mean: Tensor, deviation: Tensor) -> None:
        self.mean.lerp_(mean.expand_as(self.mean), self.layer.momentum)
        self.deviation.lerp_(deviation.expand_as(self.deviation), self.layer.momentum)
        self.count += 1.0


@contextmanager
def batch_statistics(network: nn.Module) -> Iterator[None]:
    """Within: the network normalises by the batch that it is given, and learns its running statistics from it."""
    layers = [module for module in network.modules() if isinstance(module, BatchRenorm)]
    for layer in layers:
        layer.learns = True
    try:
        yield
    finally:
        for layer in layers:
            layer.learns = False
