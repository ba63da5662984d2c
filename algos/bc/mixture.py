"""A mixture of normal distributions: continuous actions of which several unlike ones can be right."""

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.maths.distributions import Array, draw_index
from algos.common.maths.exploration import Logits
from algos.common.maths.gaussian import DiagGaussian, LogStd


class Mixture:
    """K diagonal normal distributions of A dimensions, from K logits of their weights and K means [A] in a row. Their
    deviations are learned and do not depend on the state."""

    def __init__(self, space: Box, components: int) -> None:
        self.gaussian, self.components = DiagGaussian(space), components
        self.size = self.gaussian.outputs
        self.outputs = components * (1 + self.size)

    def tail(self, log_std: float) -> list[nn.Module]:
        return [LogStd(self.components * self.size, log_std)]

    def masked(self, outputs: Logits, mask: Logits | None) -> Logits:
        return outputs

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        component = draw_index(outputs[:, : self.components], rng)[0]
        mean, log_std = self._of(component, outputs[:, self.components :])
        noise = rng.standard_normal(mean.shape, dtype=np.float32)
        action = mean + np.exp(log_std) * noise
        log_prob = self.log_prob(torch.from_numpy(outputs), torch.from_numpy(action)).numpy()
        return action.reshape(-1, *self.gaussian.shape), log_prob

    def mode(self, outputs: Array) -> Array:
        """Returns the means of the most probable components."""
        component = outputs[:, : self.components].argmax(1)
        return self._of(component, outputs[:, self.components :])[0].reshape(-1, *self.gaussian.shape)

    def _of(self, component: Array, parts: Array) -> tuple[Array, Array]:
        """Returns mean and log deviation [N, A] of one component [N] of each row."""
        numbers = parts.reshape(len(parts), 2, self.components, self.size)[np.arange(len(parts)), :, component]
        return numbers[:, 0], numbers[:, 1]

    def to_env(self, action: Array) -> Array:
        return self.gaussian.to_env(action)

    def best(self, outputs: Tensor) -> Tensor:
        logits, mean = outputs.split([self.components, 2 * self.components * self.size], -1)[:2]
        means = mean[:, : self.components * self.size].unflatten(1, (self.components, self.size))
        chosen = logits.argmax(1).view(-1, 1, 1).expand(-1, 1, self.size)
        return self.gaussian.bounded(means.gather(1, chosen).reshape(-1, *self.gaussian.shape))

    def from_env(self, action: Tensor) -> Tensor:
        return self.gaussian.from_env(action)

    def _split(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns log weights [B, K], and the outputs [B, K, 2 A] of each component."""
        logits, mean, log_std = outputs.tensor_split([self.components, self.components * (1 + self.size)], -1)
        shape = self.components, self.size
        return F.log_softmax(logits, -1), torch.cat([mean.unflatten(-1, shape), log_std.unflatten(-1, shape)], -1)

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        log_weight, components = self._split(outputs)
        repeated = action.flatten(1).repeat_interleave(self.components, 0)
        log_prob = self.gaussian.log_prob(components.flatten(0, 1), repeated).view_as(log_weight)
        return torch.logsumexp(log_weight + log_prob, -1)

    def entropy(self, outputs: Tensor) -> Tensor:
        """Returns an upper bound [B], as a mixture's entropy has no closed form: that of the weights and the mean of
        the components', which is exact where these do not overlap (Huber et al., 2008)."""
        log_weight, components = self._split(outputs)
        return (log_weight.exp() * (self.gaussian.entropy(components) - log_weight)).sum(-1)

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        """Returns an upper bound [B]: the divergence of the weights and the mean of the components'."""
        (old_weight, old_components), (new_weight, new_components) = self._split(old), self._split(new)
        return (old_weight.exp() * (old_weight - new_weight + self.gaussian.kl(old_components, new_components))).sum(-1)
