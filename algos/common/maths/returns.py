"""Advantages and returns over a window of columns [T, N], and rewards divided by the deviation of the returns so far.
Statistics are float64."""

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Batch, Tree

LIMIT = 10.0
"""Deviations from the mean to which what is normalized is clipped."""
EPSILON = 1e-8
"""Added to the variance."""


def discounted_sums(term: Tensor, decay: Tensor) -> Tensor:
    """Returns x[t] = term[t] + decay[t] x[t + 1], for columns [T, ...].

    In log2(T) passes: after each, a step holds its sum over twice as many steps as before.
    """
    total, reach, span = term.clone(), decay.clone(), 1
    while span < len(total):
        total[:-span] += reach[:-span] * total[span:]
        reach[:-span] = reach[:-span] * reach[span:]
        span *= 2
    return total


@torch.no_grad()
def gae(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    lam: float,
    valid: Tensor | None = None,
    ratio: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Generalized advantage estimation (Schulman et al., 2016): returns advantages and returns [T, N].

    ratio: pi(a|s) of the current policy divided by that of the behavior policy. With it this is V-trace (Espeholt et
    al., 2018, equation 1) with both limits 1: the return is v, the advantage v - V(s), each step weighed by min(1,
    ratio).

    next_value is the value of the true successor. It counts after a truncation but not after a termination, which
    takes precedence if both are set. Nothing propagates across episode ends. Steps with valid False get advantage 0.
    """
    delta = reward + gamma * next_value * ~terminated - value
    decay = gamma * lam * (~(terminated | truncated)).to(delta.dtype)
    if ratio is not None:
        weight = ratio.clamp(max=1.0)
        delta, decay = weight * delta, weight * decay
    if valid is not None:
        delta = torch.where(valid, delta, 0.0)
        decay = decay * valid
    advantage = discounted_sums(delta, decay)
    return advantage, advantage + value


class Moments(nn.Module):
    """Count, mean and sum of squared deviations of all rows seen, merged by Chan's parallel algorithm."""

    count: Tensor
    mean: Tensor
    squares: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("squares", torch.zeros(shape, dtype=torch.float64))

    @torch.no_grad()
    def merge(self, count: float, mean: Tensor, squares: Tensor) -> None:
        """Adds rows that are given by these three numbers."""
        total = self.count + count
        delta = mean - self.mean
        self.squares += squares + delta.square() * (self.count * count / total)
        self.mean += delta * (count / total)
        self.count.copy_(total)

    @torch.no_grad()
    def update(self, rows: Tensor) -> None:
        """Adds rows [B, ...]; B may be 0."""
        if len(rows):
            exact = rows.double()
            mean = exact.mean(0)
            self.merge(len(rows), mean, (exact - mean).square().sum(0))

    def deviation(self) -> Tensor:
        """Returns the standard deviation over all rows seen, always above 0; 1 before the second row."""
        if self.count < 2:
            return torch.ones_like(self.squares)
        return (self.squares / self.count + EPSILON).sqrt()


class RewardScaler:
    """Divides rewards by the standard deviation of the discounted return so far, which is tracked per row [N]."""

    def __init__(self, rows: int, gamma: float, device: torch.device | str = "cpu") -> None:
        self.gamma = gamma
        self.moments = Moments(()).to(device)
        self.carry = torch.zeros(rows, dtype=torch.float64, device=device)

    def scale(
        self, reward: Tensor, ended: Tensor | None, valid: Tensor | None = None, cut: Tensor | None = None
    ) -> Tensor:
        """Updates the statistics with a window [T, N] and returns its scaled rewards [T, N], clipped to -10..10.

        ended is True where the episode ends with this step; None if returns go on there. Steps with valid False do not
        count. cut: True where a trajectory goes on in the next window, although no valid step follows in this one. A
        window of another number of rows, such as a sample of whole episodes, continues nothing.
        """
        continues = len(self.carry) == reward.shape[1]
        counts = torch.ones_like(reward, dtype=torch.bool) if valid is None else valid
        terms = reward.to(torch.float64, copy=True)
        if ended is None:
            terms, decay = terms.masked_fill(~counts, 0.0), torch.ones_like(terms).masked_fill(counts, self.gamma)
        else:
            decay = self.gamma * (counts & ~ended).double()
        if continues:
            terms[0] += self.carry
        # the sum runs forward in time here: both columns are turned around, and decay is that of the step before
        before = torch.cat([torch.zeros_like(decay[:1]), decay[:-1]])
        returns = discounted_sums(terms.flip(0), before.flip(0)).flip(0)
        carry = decay[-1] * returns[-1]
        if cut is not None:
            carry = carry + (self.gamma * returns * cut).sum(0)
        if continues:
            self.carry = torch.where(counts.any(0), carry, self.carry)
        self.moments.update(returns[counts])
        return (reward / self.moments.deviation().float()).clamp_(-LIMIT, LIMIT)

    def state(self) -> Tree:
        """Returns everything that the next window depends on."""
        tensors = {**self.moments.state_dict(), "carry": self.carry}
        return {name: tensor.cpu().numpy().copy() for name, tensor in tensors.items()}

    def load_state(self, state: Tree) -> None:
        """Restores state(); with another number of rows, for the rows that exist now."""
        arrays = {name: torch.tensor(np.asarray(array)) for name, array in state.items()}
        carry = arrays.pop("carry")[: len(self.carry)]
        self.carry = torch.zeros_like(self.carry)
        self.carry[: len(carry)] = carry
        self.moments.load_state_dict(arrays)


def rewards_of(window: Batch, scaler: RewardScaler | None) -> Tensor:
    """Returns the rewards of a window [T, N], scaled if there is a scaler."""
    if scaler is None:
        return window["reward"]
    ended = window["terminated"] | window["truncated"]
    return scaler.scale(window["reward"], ended, window.get("valid"), window.get("cut"))
