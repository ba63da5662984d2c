"""Exploration noise that is a function of the state (gSDE, Raffin et al., 2021): the features of the policy times a
matrix that stays for some steps, so that equal states have equal noise and actions do not shake."""

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from algos.common.maths.gaussian import HALF_LOG_TAU, DiagGaussian, SquashedGaussian
from config.model.arrays import Array

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
