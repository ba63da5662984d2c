"""Layers that torch does not have. Those with noise have `draw`: a generator turns it on, None turns it off."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast.layers import Network, accelerate, linear
from algos.common.fast.program import drawn, generator_of
from algos.common.fast.tensors import on_device
from algos.common.nets.custom import Custom, CustomCell, learns
from config.model import layers as layer_settings

Generator = np.random.Generator


class RandomZeros(nn.Module):
    """Dropout that is active only while it learns, so that acting needs no mode switch."""

    of_target = False

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not (self.rate and learns(self)):
            return x
        return x * drawn(generator_of(x.device), partial(self._factors, x.shape, x.dtype, x.device))

    def _factors(self, size: torch.Size, kind: torch.dtype, device: torch.device) -> Tensor:
        """Returns 0 or 1 / (1 - rate) for each number."""
        kept = 1 - self.rate
        return torch.empty(size, dtype=kind, device=device).bernoulli_(kept).div_(kept)


def draws(network: nn.Module) -> bool:
    """Returns True if layers of the network draw random numbers while it learns: dropout, and layers of the user's
    own."""
    return any(isinstance(module, RandomZeros | Custom | CustomCell) for module in network.modules())


def seed_dropout(network: nn.Module, rng: Generator) -> None:
    """Seeds dropout from rng before an update. Draws nothing if the network draws nothing."""
    if draws(network):
        seed = int(rng.integers(2**63))
        torch.default_generator.manual_seed(seed)  # torch.manual_seed asks for every kind of device: over 1 ms
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)


class Residual(nn.Module):
    """Residual block: x -> x + body(x), where the body keeps the shape."""

    def __init__(self, *body: nn.Module) -> None:
        super().__init__()
        self.body = Network(*body)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


def simba_block(width: int, activation: nn.Module) -> Residual:
    """Returns a residual block of SimBa (Lee et al., 2024)."""
    hidden = 4 * width
    return Residual(nn.LayerNorm(width), nn.Linear(width, hidden), activation, nn.Linear(hidden, width))


class Detach(nn.Module):
    """Ends the way of gradients to the layers before it. `held` has the parameters of a shared layer, which the network
    with this module reads and does not change."""

    def __init__(self, held: Iterable[nn.Parameter]) -> None:
        super().__init__()
        self.held = tuple(held)

    def forward(self, x: Tensor) -> Tensor:
        return x.detach()


def changed_by(network: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters of a network that its own optimizer changes: all but those of frozen layers."""
    held = {id(weight) for part in network.modules() if isinstance(part, Detach) for weight in part.held}
    return [weight for weight in network.parameters() if id(weight) not in held]


class SpectralConv2d(nn.Conv2d):
    """A convolution whose weights [out, in k k] are divided by their largest singular value (Miyato et al., 2018). It
    is computed exactly, from the smaller square of the matrix, so that there is no state to keep."""

    def forward(self, x: Tensor) -> Tensor:
        return self._conv_forward(x, self.weight / largest_singular_value(self.weight.flatten(1)), self.bias)


def largest_singular_value(matrix: Tensor) -> Tensor:
    """Returns the largest singular value of a matrix [out, in]; its gradient is that of u^T matrix v, with the singular
    vectors u and v as constants."""
    tall = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.t()
    with torch.no_grad():
        first = torch.linalg.eigh(tall @ tall.t()).eigenvectors[:, -1]
    return (first @ tall).norm().clamp(min=1e-12)


class PerAction(nn.Module):
    """[B, A K] -> [B, A, K]; with K = 1, [B, A] stays as it is."""

    def __init__(self, atoms: int) -> None:
        super().__init__()
        self.atoms = atoms

    def forward(self, x: Tensor) -> Tensor:
        return x if self.atoms == 1 else x.unflatten(-1, (-1, self.atoms))


class Dueling(nn.Module):
    """Sum of the value of the state and the centered advantages (Wang et al., 2016, equation 9): features [B, F] ->
    [B, A], or [B, A, K] with K atoms. Each stream is a network of its own on the shared features."""

    def __init__(self, value: nn.Module, advantage: nn.Module, atoms: int) -> None:
        super().__init__()
        self.value, self.advantage, self.atoms = value, advantage, atoms

    def forward(self, x: Tensor) -> Tensor:
        value, advantage = self.value.forward(x), self.advantage.forward(x)
        if self.atoms == 1:
            return value + advantage - advantage.mean(-1, keepdim=True)
        advantage = advantage.unflatten(-1, (-1, self.atoms))
        return value.unsqueeze(-2) + advantage - advantage.mean(-2, keepdim=True)


class NoisyLinear(nn.Module):
    """A linear layer whose weights are mean + deviation * noise, with factorized noise (Fortunato et al., 2018,
    equations 10 and 11). One draw serves a whole batch."""

    bias: nn.Parameter | None
    bias_deviation: nn.Parameter | None

    def __init__(self, inputs: int, outputs: int, std_init: float, bias: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.register_parameter("bias", nn.Parameter(torch.empty(outputs).uniform_(-bound, bound)) if bias else None)
        self.weight_deviation = nn.Parameter(torch.full((outputs, inputs), std_init * bound))
        deviation = nn.Parameter(torch.full((outputs,), std_init * bound)) if bias else None
        self.register_parameter("bias_deviation", deviation)
        self.noise: tuple[Tensor, Tensor] | None = None
        """Noise of the inputs and of the outputs; None acts without noise."""
        self._drawn: Tensor | None = None

    def draw(self, rng: Generator | None) -> None:
        """Resamples the noise, or switches it off."""
        self.noise = None
        if rng is not None:
            drawn = on_device(rng.standard_normal(sum(self.weight.shape), dtype=np.float32), self.weight.device)
            scaled = drawn.sign() * drawn.abs().sqrt()
            # always in the same place, where a CUDA graph reads it
            self._drawn = scaled if self._drawn is None else self._drawn.copy_(scaled)
            outputs, inputs = self._drawn.split(list(self.weight.shape))
            self.noise = inputs, outputs

    def forward(self, x: Tensor) -> Tensor:
        if self.noise is None:
            return linear(x, self.weight, self.bias)
        inputs, outputs = self.noise
        # x (sigma * outer(outputs, inputs))^T, without the outer product
        noise = linear(x * inputs, self.weight_deviation, self.bias_deviation) * outputs
        return linear(x, self.weight, self.bias) + noise


class ImplicitQuantiles(nn.Module):
    """Features [B, F] -> [B, A + 1, K]: the quantiles of the return of each action at K fractions, and in the last row
    these fractions. They are drawn for each batch, or are the midpoints of K equal parts while noise is off (Dabney et
    al., 2018b, equation 4)."""

    COSINES = 64

    def __init__(self, features: int, output: nn.Module, quantiles: int) -> None:
        super().__init__()
        self.embed = nn.Linear(self.COSINES, features)
        accelerate(self.embed)
        self.output = output
        self.quantiles = quantiles
        self.rng: Generator | None = None

    def draw(self, rng: Generator | None) -> None:
        """Sets the generator of the fractions; None stands for the midpoints."""
        self.rng = rng

    def forward(self, x: Tensor) -> Tensor:
        fractions = self._fractions(x.shape[0], x.device).unsqueeze(2)
        angles = math.pi * torch.arange(self.COSINES, device=x.device)
        embedded = F.relu(self.embed(torch.cos(fractions * angles)))
        quantiles = self.output(x.unsqueeze(1) * embedded)
        return torch.cat([quantiles, fractions], 2).transpose(1, 2)

    def _fractions(self, batch: int, device: torch.device) -> Tensor:
        """Returns fractions [B, K]."""
        if (rng := self.rng) is None:
            return ((torch.arange(self.quantiles) + 0.5) / self.quantiles).expand(batch, -1).to(device)
        return drawn(rng, lambda: on_device(rng.random((batch, self.quantiles), dtype=np.float32), device))


class Features(NamedTuple):
    """Input of an output layer."""

    width: int
    """Number of features [B, width] that all outputs share."""
    stream: Callable[[], tuple[list[nn.Module], int]]
    """Builds the hidden layer of one stream of a dueling network: its modules, and their number of outputs. There are
    no modules if the network has no hidden layer to split."""


def value_layer(
    features: Features, actions: int, atoms: int = 1, *, dueling: bool, std_init: float | None = None
) -> nn.Module:
    """Returns the output layer of action values [B, A], or with atoms [B, A, K]; with std_init a noisy one."""

    def linear(inputs: int, outputs: int) -> nn.Module:
        return nn.Linear(inputs, outputs) if std_init is None else NoisyLinear(inputs, outputs, std_init)

    if not dueling:
        output = linear(features.width, actions * atoms)
        return output if atoms == 1 else Network(output, PerAction(atoms))

    def stream(outputs: int) -> nn.Module:
        hidden, width = features.stream()
        return Network(*hidden, linear(width, outputs))

    return Dueling(stream(atoms), stream(actions * atoms), atoms)


def noisy_parts(network: nn.Module) -> list[nn.Module]:
    """Returns the parts of a network that have `draw`."""
    return [part for part in network.modules() if isinstance(part, NoisyLinear | ImplicitQuantiles)]


def draw(parts: list[nn.Module], rng: Generator | None) -> None:
    """Draws the noise of the next batches from rng, or turns it off."""
    for part in parts:
        part.draw(rng)  # type: ignore[operator]


RENORM_EPSILON = 1e-3


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
        normed = [F.batch_norm(member, m, v, w, None, True, 1.0, RENORM_EPSILON) for member, m, v, w in members]
        deviation = (variance * ((x.shape[-2] - 1) / x.shape[-2]) + RENORM_EPSILON).sqrt_()
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


BATCH_EPSILON = 1e-5


class BatchNorm(nn.Module):
    """Batch normalization of [..., B, D] over B; of shape (1, D) or, for the members of an ensemble, (n, 1, D).

    By running statistics; within batch_statistics(), where gradients are recorded, by those of the batch, from which
    the running ones learn."""

    mean: Tensor
    variance: Tensor

    def __init__(self, shape: tuple[int, ...], layer: layer_settings.BatchNorm) -> None:
        super().__init__()
        self.layer, self.learns = layer, False
        self.weight = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape))
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))

    def forward(self, x: Tensor) -> Tensor:
        if self.learns and torch.is_grad_enabled():
            return self._by_the_batch(x.expand(*self.weight.shape[:-2], -1, -1))
        factor = self.weight * (self.variance + BATCH_EPSILON).rsqrt()
        return torch.addcmul(self.bias - self.mean * factor, x, factor)

    def _by_the_batch(self, x: Tensor) -> Tensor:
        """With a momentum of 1, batch_norm writes mean and variance (over B - 1) of the batch, towards which the
        running ones move. It does not get those: a step that is compiled changes no part of a tensor."""
        mean, variance = torch.zeros(2, *self.weight.shape, device=x.device)
        columns = map(_rows, (mean, variance, self.weight, self.bias))
        members = zip(x.reshape(-1, *x.shape[-2:]), *columns, strict=True)
        normed = [F.batch_norm(y, m, v, w, b, True, 1.0, BATCH_EPSILON) for y, m, v, w, b in members]
        self._learn(mean, variance)
        return torch.stack(normed).view(x.shape) if len(normed) > 1 else normed[0].view(x.shape)

    @torch.no_grad()
    def _learn(self, mean: Tensor, variance: Tensor) -> None:
        self.mean.lerp_(mean, self.layer.momentum)
        self.variance.lerp_(variance, self.layer.momentum)


RMS_EPSILON = 1e-6


class RmsNorm(nn.Module):
    """[..., D] divided by the root of the mean square over D, times a weight of shape (D) or, for the members of an
    ensemble, (n, 1, D)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], eps=RMS_EPSILON) * self.weight


def _rows(x: Tensor) -> Tensor:
    """[n, 1, D] or [1, D] -> [n, D]."""
    return x.view(-1, x.shape[-1])


BATCH_NORMS = BatchRenorm, BatchNorm


def has_batch_norms(network: nn.Module) -> bool:
    """Returns True if a network normalizes by the statistics of its input batch."""
    return any(isinstance(module, BATCH_NORMS) for module in network.modules())


def statistics_of(network: nn.Module) -> list[Tensor]:
    """Returns the running statistics of the batch normalizations of a network."""
    return [s for module in network.modules() if isinstance(module, BATCH_NORMS) for s in module.buffers()]


@contextmanager
def batch_statistics(network: nn.Module) -> Iterator[None]:
    """Context in which the network normalizes by its input batch and updates its running statistics with it."""
    layers = [module for module in network.modules() if isinstance(module, BATCH_NORMS)]
    for layer in layers:
        layer.learns = True
    try:
        yield
    finally:
        for layer in layers:
            layer.learns = False
