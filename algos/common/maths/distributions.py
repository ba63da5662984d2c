"""Distributions: of actions, one for each kind of action space, and of values, over bins.

Acting is numpy: sample and mode take what the network gives for N rows. Learning is torch: so do log_prob and entropy
for B samples. The network is build(spec, layers, distribution.outputs, ...).extend(distribution.tail(log_std)).
Where actions are forbidden, its outputs pass through `masked` of the distribution first; the rest of it knows no mask.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.maths.exploration import IMPOSSIBLE, Logits
from algos.common.maths.exploration import masked as masked  # where agents of the user's own may look for it
from algos.common.maths.gaussian import DiagGaussian
from config.model.arrays import Array
from config.model.composite import ActionPart, Composite, choices_of
from config.tell.language import tr


class Distribution(Protocol):
    """Interface of action distributions."""

    outputs: int
    """Number of outputs of the network's output layer per row."""

    def tail(self, log_std: float) -> list[nn.Module]:
        """Returns modules to append after the output layer; log_std is the initial one of a Gaussian."""

    def masked(self, outputs: Logits, mask: Logits | None) -> Logits:
        """Returns outputs [B, size] in which what a mask [B, entries] forbids has probability 0; None forbids nothing.
        A mask has an entry for each value of each whole number of an action."""

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Samples actions [N, ...]; returns them with their log probabilities [N]. Draws the same amount of randomness
        in every call."""

    def mode(self, outputs: Array) -> Array:
        """Returns the modes [N, ...]."""

    def to_env(self, action: Array) -> Array:
        """Maps sampled actions to those for the environment."""

    def best(self, outputs: Tensor) -> Tensor:
        """Returns to_env(mode(outputs)), from outputs [B, size]."""

    def from_env(self, action: Tensor) -> Tensor:
        """Returns actions of the environment [B, ...] as they were before scaling; those outside of the bounds stay
        there."""

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        """Returns the log probability or density [B] of actions [B, ...]."""

    def entropy(self, outputs: Tensor) -> Tensor:
        """Returns the entropy [B] of outputs [B, size]."""

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        """Returns the Kullback-Leibler divergence KL(old, new) [B] of outputs [B, size]."""


def draw_index(logits: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Samples one index per row of logits [R, A] by inverse transform sampling; returns it with its log probability.

    The draw is in (0, total], and the first index that reaches it wins: rounding never picks one of probability 0.
    """
    # methods of arrays take twice as long as these for a few rows
    shifted = logits - np.maximum.reduce(logits, 1, keepdims=True)
    cumulative = np.add.accumulate(np.exp(shifted), 1)
    total = cumulative[:, -1:]
    index = (cumulative >= total * (1.0 - rng.random((len(logits), 1)))).argmax(1)
    return index, shifted[np.arange(len(logits)), index] - np.log(total[:, 0])


def _kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Returns sum p (log p - log q) over the last axis."""
    return (log_p.exp() * (log_p - log_q)).sum(-1)


class _Plain:
    """Base of distributions whose outputs and actions need no conversion."""

    def tail(self, log_std: float) -> list[nn.Module]:
        return []

    def masked(self, outputs: Logits, mask: Logits | None) -> Logits:
        return masked(outputs, mask)

    def to_env(self, action: Array) -> Array:
        return action

    def from_env(self, action: Tensor) -> Tensor:
        return action


class Categorical(_Plain):
    """One of A actions, from A logits."""

    def __init__(self, space: Discrete) -> None:
        self.outputs, self.start = int(space.n), int(space.start)

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        index, log_prob = draw_index(outputs, rng)
        return index + self.start, log_prob

    def mode(self, outputs: Array) -> Array:
        return outputs.argmax(1) + self.start

    def best(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(1) + self.start

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        return -F.cross_entropy(outputs, action - self.start, reduction="none")

    def entropy(self, outputs: Tensor) -> Tensor:
        log_p = F.log_softmax(outputs, -1)
        return -(log_p.exp() * log_p).sum(-1)

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        return _kl(F.log_softmax(old, -1), F.log_softmax(new, -1))


class MultiCategorical(_Plain):
    """One of several actions in each of k places, from all their logits in a row."""

    def __init__(self, space: MultiDiscrete) -> None:
        sizes = space.nvec.ravel()
        self.outputs, self.places, self.widest = int(sizes.sum()), len(sizes), int(sizes.max())
        self.shape, self.start = space.nvec.shape, space.start.copy()
        # column of each place's logits; the extra last column is IMPOSSIBLE
        first = np.cumsum(sizes) - sizes
        offset = np.arange(self.widest)
        self.columns = np.where(offset < sizes[:, None], first[:, None] + offset, self.outputs)

    def _rows(self, outputs: Array) -> Array:
        """Pads outputs [N, size] to rows [N k, widest]."""
        impossible = np.full((len(outputs), 1), IMPOSSIBLE, outputs.dtype)
        padded = np.concatenate((outputs, impossible), 1)
        return padded[:, self.columns].reshape(-1, self.widest)

    def _logits(self, outputs: Tensor) -> Tensor:
        """Returns outputs [B, size] as [B, k, widest]."""
        columns = torch.as_tensor(self.columns, device=outputs.device)
        return F.pad(outputs, (0, 1), value=IMPOSSIBLE)[:, columns]

    def _log_softmax(self, outputs: Tensor) -> Tensor:
        """Returns log probabilities [B, k, widest] of outputs [B, size]."""
        return F.log_softmax(self._logits(outputs), -1)

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        index, log_prob = draw_index(self._rows(outputs), rng)
        return index.reshape(-1, *self.shape) + self.start, log_prob.reshape(-1, self.places).sum(1)

    def mode(self, outputs: Array) -> Array:
        return self._rows(outputs).argmax(1).reshape(-1, *self.shape) + self.start

    def best(self, outputs: Tensor) -> Tensor:
        start = torch.as_tensor(self.start, device=outputs.device)
        return self._logits(outputs).argmax(-1).reshape(-1, *self.shape) + start

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        index = (action - torch.as_tensor(self.start, device=action.device)).flatten(1)
        return self._log_softmax(outputs).gather(-1, index.unsqueeze(-1)).squeeze(-1).sum(-1)

    def entropy(self, outputs: Tensor) -> Tensor:
        log_p = self._log_softmax(outputs)
        return -(log_p.exp() * log_p).sum((-1, -2))

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        return _kl(self._log_softmax(old), self._log_softmax(new)).sum(-1)


class Shift(nn.Module):
    """Adds a constant."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


class Bernoulli(_Plain):
    """0 or 1 in each of n places, from the logit of each 1.

    A space may have two attributes for actions of which few are 1 at a time. `likely` is the mean number of ones that
    an untrained policy chooses, instead of n / 2. With `never_empty` the mode has a 1 at the largest logit, if none is
    above 0 and not all are forbidden: where none is likely by itself, all zeros would be the mode though such an action
    is hardly ever sampled.
    """

    def __init__(self, space: MultiBinary) -> None:
        self.shape = space.shape
        self.outputs = math.prod(self.shape)
        self.likely: float | None = getattr(space, "likely", None)
        self.never_empty: bool = getattr(space, "never_empty", False)

    def tail(self, log_std: float) -> list[nn.Module]:
        """Returns a constant that is added to the logits, if the space says how many ones are likely."""
        if self.likely is None or not 0 < self.likely < self.outputs:
            return []
        return [Shift(math.log(self.likely / (self.outputs - self.likely)))]

    def masked(self, outputs: Logits, mask: Logits | None) -> Logits:
        """The mask has two entries for each place: may it be 0, and may it be 1."""
        if mask is None:
            return outputs
        may_be_0, may_be_1 = mask[..., ::2], mask[..., 1::2]
        return -masked(-masked(outputs, may_be_1), may_be_0)

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        # log(u / (1 - u)) of a uniform u is logistic, so this is 1 with probability sigmoid(output)
        action = rng.logistic(size=outputs.shape) < outputs
        log_prob = -np.logaddexp(0.0, np.where(action, -outputs, outputs)).sum(1)
        return action.reshape(-1, *self.shape).astype(np.int8), log_prob

    def mode(self, outputs: Array) -> Array:
        ones = outputs > 0
        if self.never_empty:
            largest = (outputs == outputs.max(1, keepdims=True)) & (outputs > IMPOSSIBLE)
            ones |= largest & ~ones.any(1, keepdims=True)
        return ones.reshape(-1, *self.shape).astype(np.int8)

    def best(self, outputs: Tensor) -> Tensor:
        ones = outputs > 0
        if self.never_empty:
            largest = (outputs == outputs.amax(1, keepdim=True)) & (outputs > IMPOSSIBLE)
            ones = ones | (largest & ~ones.any(1, keepdim=True))
        return ones.reshape(-1, *self.shape).to(torch.int8)

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        return -F.softplus((1 - 2 * action.flatten(1)) * outputs).sum(-1)

    def entropy(self, outputs: Tensor) -> Tensor:
        return (F.softplus(outputs) - outputs * outputs.sigmoid()).sum(-1)

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        # log p = a - softplus(a) and log (1 - p) = -softplus(a), for the logit a of p
        return (old.sigmoid() * (old - new) + F.softplus(new) - F.softplus(old)).sum(-1)


class Tails(nn.Module):
    """Passes consecutive columns [B, size] each through the tail of a distribution, and concatenates the results."""

    def __init__(self, tails: list[nn.Module], sizes: list[int]) -> None:
        super().__init__()
        self.tails, self.sizes = nn.ModuleList(tails), sizes

    def forward(self, x: Tensor) -> Tensor:
        pairs = zip(self.tails, x.split(self.sizes, -1), strict=True)
        return torch.cat([tail(columns) for tail, columns in pairs], -1)


class Member(NamedTuple):
    """Distribution of one part of an action, and where its columns are."""

    of: Distribution
    part: ActionPart
    outputs: slice
    """In the outputs of the network behind the tails."""
    mask: slice
    """In a mask."""

    def action(self, flat: Any) -> Any:
        """Returns the part [B, *shape] of flat actions [B, W], whole numbers as such."""
        values = flat[..., self.part.start : self.part.stop].reshape(-1, *(self.part.space.shape or ()))
        if isinstance(self.part.space, Box):
            return values
        return values.long() if isinstance(values, Tensor) else values.astype(np.int64)


class Parts:
    """Independent distributions of the parts of an action: log probabilities, entropies and divergences are the sums of
    the parts'. Actions are flat, [B, W] float32."""

    def __init__(self, space: Composite, of_box: "Callable[[Box], Distribution]") -> None:
        self.members: list[Member] = []
        size = entries = 0
        for part in space.parts:
            member = distribution_for(part.space, of_box)
            width, choices = _width(member), choices_of(part.space).entries
            place = slice(size, size + width), slice(entries, entries + choices)
            self.members.append(Member(member, part, *place))
            size, entries = size + width, entries + choices
        self.outputs = sum(member.of.outputs for member in self.members)

    def tail(self, log_std: float) -> list[nn.Module]:
        tails = [nn.Sequential(*member.of.tail(log_std)) for member in self.members]
        return [Tails(list(tails), [member.of.outputs for member in self.members])] if any(map(len, tails)) else []

    def masked(self, outputs: Logits, mask: Logits | None) -> Logits:
        if mask is None:
            return outputs
        return _joined(
            member.of.masked(outputs[..., member.outputs], mask[..., member.mask])
            if member.mask.start < member.mask.stop
            else outputs[..., member.outputs]
            for member in self.members
        )

    def sample(self, outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        pairs = [member.of.sample(outputs[:, member.outputs], rng) for member in self.members]
        return _flat(action for action, _ in pairs), np.sum([log_prob for _, log_prob in pairs], axis=0)

    def mode(self, outputs: Array) -> Array:
        return _flat(member.of.mode(outputs[:, member.outputs]) for member in self.members)

    def to_env(self, action: Array) -> Array:
        return _flat(member.of.to_env(member.action(action)) for member in self.members)

    def best(self, outputs: Tensor) -> Tensor:
        return _flat_tensor(member.of.best(outputs[:, member.outputs]) for member in self.members)

    def from_env(self, action: Tensor) -> Tensor:
        return _flat_tensor(member.of.from_env(member.action(action)) for member in self.members)

    def log_prob(self, outputs: Tensor, action: Tensor) -> Tensor:
        return self._sum(
            member.of.log_prob(outputs[..., member.outputs], member.action(action)) for member in self.members
        )

    def entropy(self, outputs: Tensor) -> Tensor:
        return self._sum(member.of.entropy(outputs[..., member.outputs]) for member in self.members)

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        return self._sum(member.of.kl(old[..., member.outputs], new[..., member.outputs]) for member in self.members)

    @staticmethod
    def _sum(numbers: Iterator[Tensor]) -> Tensor:
        return torch.stack(list(numbers)).sum(0)


def _width(distribution: Distribution) -> int:
    """Returns the outputs of a network behind the tail of a distribution."""
    return nn.Sequential(*distribution.tail(0.0))(torch.zeros(1, distribution.outputs)).shape[1]


def _joined(columns: Iterator[Any]) -> Any:
    parts = list(columns)
    return torch.cat(parts, -1) if isinstance(parts[0], Tensor) else np.concatenate(parts, -1)


def _flat(actions: Iterator[Array]) -> Array:
    """Returns the parts of actions [N, ...] side by side."""
    return np.concatenate([action.reshape(len(action), -1) for action in actions], axis=1, dtype=np.float32)


def _flat_tensor(actions: Iterator[Tensor]) -> Tensor:
    parts = (action.unsqueeze(1) if action.ndim == 1 else action.flatten(1) for action in actions)
    return torch.cat([part.float() for part in parts], 1)


def distribution_for(space: Space, of_box: "Callable[[Box], Distribution]" = DiagGaussian) -> Distribution:
    """Returns the distribution over the actions of this space. of_box: makes that of the numbers of a Box."""
    match space:
        case Composite():
            return Parts(space, of_box)
        case Discrete():
            return Categorical(space)
        case MultiDiscrete():
            return MultiCategorical(space)
        case MultiBinary():
            return Bernoulli(space)
        case Box() if np.issubdtype(space.dtype, np.floating):
            return of_box(space)
    raise ValueError(
        tr(
            "no distribution over {space}; there is one for Discrete, MultiDiscrete, MultiBinary, float Box, and Tuple "
            "and Dict of them",
            space=space,
        )
    )


# values as distributions over evenly spaced numbers (bins), learned as classes: M or B samples, n critics, K bins ----


def project(probability: Tensor, atoms: Tensor, support: Tensor) -> Tensor:
    """Projects a distribution with probabilities [M, K] of returns at `atoms` [M, K] onto the evenly spaced `support`
    [K]: each atom's share goes to its two neighbors (Bellemare et al., 2017, algorithm 1)."""
    spacing = (support[-1] - support[0]) / (len(support) - 1)  # neighbors far from 0 differ in few digits
    place = (atoms.clamp(support[0], support[-1]) - support[0]) / spacing  # in atoms, 0 .. K - 1
    # [M, K support, K atoms]: how near each atom is to each point of the support, from 1 (on it) to 0
    near = (1 - (place.unsqueeze(1) - torch.arange(len(support), device=place.device).unsqueeze(1)).abs()).clamp_(min=0)
    return (near * probability.unsqueeze(1)).sum(2)


def scattered(probability: Tensor, atoms: Tensor, support: Tensor) -> Tensor:
    """Returns what `project` does, without its tensor [M, K, K]: for many bins this is faster."""
    spacing = (support[-1] - support[0]) / (len(support) - 1)
    place = (atoms.clamp(support[0], support[-1]) - support[0]) / spacing
    low = place.floor().clamp(max=len(support) - 2)
    share = place - low
    index = low.long()
    result = torch.zeros_like(probability).scatter_add_(1, index, probability * (1 - share))
    return result.scatter_add_(1, index + 1, probability * share)


class Bins:
    """Critics whose outputs are the logits of K values, evenly spaced from -limit to limit."""

    def __init__(self, count: int, limit: float, device: torch.device) -> None:
        self.support = torch.linspace(-limit, limit, count, device=device)

    def first_bias(self) -> Tensor:
        """Returns logits [K] of values around 0, with a deviation of a quarter of the limit. Uniform ones would stay
        wide for as long as targets take to forget the first values, and hide small differences."""
        return -0.5 * (4.0 * self.support / self.support[-1]).square()

    def mean(self, logits: Tensor) -> Tensor:
        """Returns the expected values [...] of logits [..., K]."""
        return logits.softmax(-1) @ self.support

    @torch.no_grad()
    def target(self, logits: Tensor, reward: Tensor, discount: Tensor, bonus: Tensor) -> Tensor:
        """Returns the distribution of reward + discount (z + bonus) [B, K], where z is drawn from that critic of the
        logits [n, B, K] with the smallest mean. reward, discount and bonus are [B]."""
        least = self.mean(logits).argmin(0)
        probability = logits.softmax(-1)[least, torch.arange(len(least), device=least.device)]
        atoms = torch.addcmul(reward.unsqueeze(1), discount.unsqueeze(1), self.support + bonus.unsqueeze(1))
        spread = scattered if atoms.is_cpu else project  # a GPU scatters in a random order
        return spread(probability, atoms, self.support)

    def loss(self, logits: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
        """Returns the cross entropy of critics [n, B, K] and a target [B, K]: the mean over the batch, summed over the
        critics. weight [B] are importance sampling weights of prioritized replay."""
        losses = -(target * logits.log_softmax(-1)).sum(-1)
        return (losses if weight is None else weight * losses).mean(1).sum()
