"""Batch renormalization (Ioffe, 2017)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from config.model import layers as layer_settings

EPSILON = 1e-3


class BatchRenorm(nn.Module):
    """Normalizes [..., B, D] over B; of shape (1, D) or, for the members of an ensemble, (n, 1, D).

    By running statistics; within batch_statistics(), where gradients are recorded, by those of the batch, corrected
    towards the running ones, which learn from it.
    """

    mean: Tensor
    deviation: Tensor
    count: Tensor

    def __init__(self, shape: tuple[int, ...], layer: layer_settings.BatchRenorm) -> None:
        super().__init__()
        self.layer, self.learns = layer, False
        self.weight = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape))
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("deviation", torch.ones(shape))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if self.learns and torch.is_grad_enabled():
            return self._by_the_batch(x)
        factor = self.weight / self.deviation
        return torch.addcmul(self.bias - self.mean * factor, x, factor)

    def _by_the_batch(self, x: Tensor) -> Tensor:
        """(x - batch mean) / batch deviation * r + d; no gradient flows through r and d."""
        x = x.expand(*self.weight.shape[:-2], -1, -1)
        mean, variance = torch.zeros(2, *self.weight.shape, device=x.device)
        members = zip(x.reshape(-1, *x.shape[-2:]), *map(_rows, (mean, variance, self.weight)), strict=True)
        # with a momentum of 1, batch_norm writes mean and variance (over B - 1) of the batch to m and v
        normed = [F.batch_norm(one, m, v, w, None, True, 1.0, EPSILON) for one, m, v, w in members]
        deviation = (variance * ((x.shape[-2] - 1) / x.shape[-2]) + EPSILON).sqrt_()
        r, d = self.correction(mean, deviation)
        self._learn(mean, deviation)
        return torch.addcmul(self.bias + d * self.weight, torch.stack(normed).view(x.shape), r)

    def correction(self, mean: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
        """Returns r and d of algorithm 1, clipped; 1 and 0 during the warm-up."""
        layer, warm = self.layer, self.count >= self.layer.warmup
        r = (deviation / self.deviation).clamp(1.0 / layer.r_max, layer.r_max)
        d = ((mean - self.mean) / self.deviation).clamp(-layer.d_max, layer.d_max)
        return torch.where(warm, r, 1.0), torch.where(warm, d, 0.0)

    @torch.no_grad()
    def _learn(self, mean: Tensor, deviation: Tensor) -> None:
        self.mean.lerp_(mean, self.layer.momentum)
        self.deviation.lerp_(deviation, self.layer.momentum)
        self.count += 1.0


def _rows(x: Tensor) -> Tensor:
    """[n, 1, D] or [1, D] -> [n, D]."""
    return x.view(-1, x.shape[-1])


@contextmanager
def batch_statistics(network: nn.Module) -> Iterator[None]:
    """Context in which the network normalizes by its input batch and updates its running statistics with it."""
    layers = [module for module in network.modules() if isinstance(module, BatchRenorm)]
    for layer in layers:
        layer.learns = True
    try:
        yield
    finally:
        for layer in layers:
            layer.learns = False
