"""Normal distributions of continuous actions: independent ones, their image in the cube -1..1, and both with noise that
is a function of the state (gSDE, Raffin et al., 2021): the features of the policy times a matrix that stays for some
steps, so that equal states have equal noise and actions do not shake."""

import math

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.maths.exploration import Logits
from config.model.arrays import Array

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
LOG_2 = math.log(2.0)
LOG_STD_RANGE = (-20.0, 2.0)  # of a squashed Gaussian, whose deviation is a function of the state


class LogStd(nn.Module):
    """Means [B, A] -> [B, 2 A]: means, followed by state-independent log standard deviations."""

    def __init__(self, size: int, start: float) -> None:
        super().__init__()
        self.log_std = nn.Parameter(torch.full((size,), start))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.log_std.expand(*x.shape[:-1], -1)], -1)


def log_stds(network: nn.Module) -> list[Tensor]:
    """Returns the log deviations of a network's Gaussians that do not depend on the state."""
    return [part.log_std for part in network.modules() if isinstance(part, LogStd)]


@torch.no_grad()
def keep_spread(log_stds: list[Tensor], least: float) -> None:
    """Raises log deviations to the least one. Where all actions of the data are what the policy says, at a bound for
    example, their density would grow without limit, and that of any other action be 0."""
    for log_std in log_stds:
        log_std.clamp_(min=least)


def _alike(space: Box) -> bool:
    """True if every dimension has the same bounds -h..h, for which the policy needs no scaling."""
    return bool((space.high == space.high.flat[0]).all() and (space.low == -space.high).all())


class DiagGaussian:
    """Independent normal distributions, from their means. log_prob is of the action before scaling and clipping."""

    def __init__(self, space: Box) -> None:
        self.shape = space.shape
        self.outputs = math.prod(self.shape)
        self.low, self.high = space.low, space.high
        self.scaled = space.is_bounded() and not _alike(space)
        """True if -1..1 of the policy is mapped to the bounds: they are finite, and not the same -h..h everywhere."""
        if self.scaled:
            self.middle, self.half = 0.5 * (self.high + self.low), 0.5 * (self.high - self.low)

    def tail(self, log_std: float) -> list[nn.Module]:
        return [LogStd(self.outputs, log_std)]

    def masked(self, outputs: Logits, mask: Logits | None) -> Logits:
        """Returns the outputs: there is no mask of numbers."""
        return outputs

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        mean, log_std = outputs[:, : self.outputs], outputs[:, self.outputs :]
        noise = rng.standard_normal(mean.shape, dtype=np.float32)
        log_prob = -(0.5 * noise * noise + log_std).sum(1) - self.outputs * HALF_LOG_TAU
        return (mean + np.exp(log_std) * noise).reshape(-1, *self.shape), log_prob

    def mode(self, outputs: Array) -> Array:
        return outputs[:, : self.outputs].reshape(-1, *self.shape)

    def to_env(self, action: Array) -> Array:
        """Scales actions if the bounds are unlike, and clips them to the bounds."""
        if self.scaled:
            action = self.middle + self.half * action
        return np.minimum(np.maximum(action, self.low), self.high)

    def best(self, outputs: Tensor) -> Tensor:
        return self.bounded(outputs[:, : self.outputs].reshape(-1, *self.shape))

    def bounded(self, action: Tensor) -> Tensor:
        """Returns to_env() of tensors [B, ...]."""
        if self.scaled:
            middle, half = (torch.as_tensor(part, device=action.device) for part in (self.middle, self.half))
            action = middle + half * action
        low, high = (torch.as_tensor(part, device=action.device) for part in (self.low, self.high))
        return action.clamp(low, high)

    def from_env(self, action: Tensor) -> Tensor:
        if not self.scaled:
            return action.float()
        middle, half = (torch.as_tensor(part, device=action.device) for part in (self.middle, self.half))
        has_extent = half > 0  # a dimension without extent is 0
        return torch.where(has_extent, (action - middle) / torch.where(has_extent, half, 1.0), 0.0).float()

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        mean, log_std = outputs.chunk(2, -1)
        z = (action.flatten(1) - mean) * (-log_std).exp()
        return -(0.5 * z * z + log_std).sum(-1) - self.outputs * HALF_LOG_TAU

    def entropy(self, outputs: Tensor) -> Tensor:
        return outputs[..., self.outputs :].sum(-1) + self.outputs * (0.5 + HALF_LOG_TAU)

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        (mean, log_std), (new_mean, new_log_std) = old.chunk(2, -1), new.chunk(2, -1)
        spread = (2 * log_std).exp() + (mean - new_mean).square()
        return (new_log_std - log_std + 0.5 * spread * (-2 * new_log_std).exp() - 0.5).sum(-1)


class SquashedGaussian:
    """tanh of independent normal variables: actions in -1..1 [.., A], from A means and A log deviations."""

    def __init__(self, size: int, smooth: tuple[float, float] | None = None) -> None:
        """smooth: range that a tanh maps the log deviations to; None: they are limited to LOG_STD_RANGE."""
        self.size, self.outputs, self.smooth = size, 2 * size, smooth

    def sample(self, outputs: Array, rng: np.random.Generator) -> Array:
        """Samples actions [N, A]."""
        return self.with_noise(outputs, rng.standard_normal((len(outputs), self.size), dtype=np.float32))

    def with_noise(self, outputs: Array, noise: Array) -> Array:
        """Returns the actions [N, A] of standard normal noise [N, A]."""
        mean, log_std = outputs[:, : self.size], outputs[:, self.size :]
        if self.smooth is None:
            log_std = np.clip(log_std, *LOG_STD_RANGE)
        else:
            low, high = self.smooth
            log_std = low + 0.5 * (high - low) * (1.0 + np.tanh(log_std))
        return np.tanh(mean + np.exp(log_std) * noise)

    def mode(self, outputs: Array) -> Array:
        """Returns tanh of the means [N, A]."""
        return np.tanh(outputs[:, : self.size])

    def best(self, outputs: Tensor) -> Tensor:
        """Returns mode() of tensors [B, 2 A]."""
        return outputs[:, : self.size].tanh()

    def draw(self, outputs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Returns reparametrized actions [B, A] from standard normal noise [B, A], and their log densities [B]."""
        mean, log_std = outputs.chunk(2, -1)
        if self.smooth is None:
            log_std = log_std.clamp(*LOG_STD_RANGE)
        else:
            low, high = self.smooth
            log_std = low + 0.5 * (high - low) * (1.0 + log_std.tanh())
        u = torch.addcmul(mean, log_std.exp(), noise)
        # log(1 - tanh(u)^2), in the form that keeps its digits where tanh(u) is all but 1
        log_slope = 2.0 * (LOG_2 - u - F.softplus(-2.0 * u))
        log_prob = -(0.5 * noise * noise + log_std + log_slope).sum(-1) - self.size * HALF_LOG_TAU
        return u.tanh(), log_prob


# noise that depends on the state ----------------------------------------------------------------------------

LEAST = 1e-6
"""Added to the variance, which is 0 where no feature is active."""
MOST_MATRICES = 1 << 24
"""Numbers of matrices, of which float32 tells each apart."""


class StateDependentStd(nn.Module):
    """Features [B, D] -> means [B, A], log deviations [B, A] of their noise, and the features themselves. The entries
    of a noise matrix [D, A] have deviations that are learned; those of the actions are sqrt(z^2 sigma^2)."""

    def __init__(self, features: int, size: int, log_std: float, learns_features: bool) -> None:
        """log_std: initial log deviation of the actions where features have a mean square of 1. learns_features: True
        if the features learn from the deviations, too."""
        super().__init__()
        self.mean = nn.Linear(features, size)
        self.log_std = nn.Parameter(torch.full((features, size), log_std - 0.5 * float(np.log(features))))
        self.learns_features = learns_features

    def forward(self, x: Tensor) -> Tensor:
        seen = x if self.learns_features else x.detach()
        variance = seen.square() @ (2.0 * self.log_std).exp() + LEAST
        return torch.cat([self.mean(x), 0.5 * variance.log(), x], -1)


def head_of(network: nn.Module) -> StateDependentStd | None:
    """Returns the output layer of a network whose noise depends on the state; None for any other network."""
    return next((part for part in network.modules() if isinstance(part, StateDependentStd)), None)


class StateNoise:
    """Noise of the rows of a collector. The state of a row is [2]: the number of its matrix, 0 before the first one,
    and the steps since that was drawn. A matrix follows from its number, so that it need not be stored."""

    def __init__(self, head: StateDependentStd, steps: int | None) -> None:
        """steps: after which a new matrix is drawn; None: each episode has one."""
        self.head, self.steps = head, steps
        self._matrices: dict[int, Array] = {}
        """Matrices of the last step, by their numbers."""

    def initial(self, rows: int) -> Array:
        """Returns the state [N, 2] at the start of an episode."""
        return np.zeros((rows, 2), np.float32)

    def draw(self, features: Array, state: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Returns the noise [N, A] of actions, and the state after this step."""
        numbers = rng.integers(1, MOST_MATRICES, len(state))
        ended = state[:, 0] == 0 if self.steps is None else (state[:, 0] == 0) | (state[:, 1] >= self.steps)
        number = np.where(ended, numbers, state[:, 0].astype(np.int64))
        after = np.stack([number, np.where(ended, 0, state[:, 1]) + 1], 1).astype(np.float32)
        self._matrices = {int(each): self._matrix(int(each)) for each in number}
        spread = self.head.log_std.detach().exp().cpu().numpy()
        drawn = np.stack([self._matrices[int(each)] for each in number])
        return np.einsum("nd,nda->na", features, spread * drawn), after

    def _matrix(self, number: int) -> Array:
        """Returns a standard normal matrix [D, A]."""
        if number in self._matrices:
            return self._matrices[number]
        shape = tuple(self.head.log_std.shape)
        return np.random.Generator(np.random.Philox(number)).standard_normal(shape, np.float32)


class StateGaussian(DiagGaussian):
    """Normal distributions, from means, log deviations and features."""

    def __init__(self, space: Box) -> None:
        super().__init__(space)
        self.size = self.outputs

    def tail(self, log_std: float) -> list[nn.Module]:
        return []

    def given(self, outputs: Array, noise: Array) -> tuple[Array, Array]:
        """Returns actions [N, ...] with this noise [N, A], and their log probabilities [N]."""
        mean, log_std = outputs[:, : self.size], outputs[:, self.size : 2 * self.size]
        standard = noise * np.exp(-log_std)
        log_prob = -(0.5 * standard * standard + log_std).sum(1) - self.size * HALF_LOG_TAU
        return (mean + noise).astype(np.float32).reshape(-1, *self.shape), log_prob

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        return super().sample(outputs[:, : 2 * self.size], rng)

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        return super().log_prob(outputs[..., : 2 * self.size], action)

    def entropy(self, outputs: Tensor) -> Tensor:
        return super().entropy(outputs[..., : 2 * self.size])

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        return super().kl(old[..., : 2 * self.size], new[..., : 2 * self.size])


class SquashedStateGaussian(SquashedGaussian):
    """tanh of normal variables, from means, log deviations and features."""

    def given(self, outputs: Array, noise: Array) -> Array:
        """Returns actions [N, A] with this noise."""
        action: Array = np.tanh(outputs[:, : self.size] + noise)
        return action

    def sample(self, outputs: Array, rng: np.random.Generator) -> Array:
        return super().sample(outputs[:, : 2 * self.size], rng)

    def draw(self, outputs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        return super().draw(outputs[:, : 2 * self.size], noise)


def features_of(outputs: Array, size: int) -> Array:
    """Returns the features [N, D] among the outputs of a network for actions of this size."""
    return outputs[:, 2 * size :]
