"""Sequences of a minibatch, [L, B, ...], as single steps [M, ...]."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from algos.base import Batch
from algos.common.nets.recurrent import Recurrent


def real(column: Tensor, valid: Tensor | None) -> Tensor:
    """Flattens [L, B, ...] to [M, ...], without dummy steps."""
    flat = column.flatten(0, 1)
    return flat if valid is None else flat[valid.flatten()]


def n_step_returns(steps: Batch, n: int, gamma: float, valid: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the sums of up to n discounted rewards within sequences [L, B], the discount of the state after them, and
    the place of their last step among the M valid ones [M]. Fewer than n where an episode or the sequence ends."""
    reward, discount, first = steps["reward"], steps["discount"], steps["first"]
    ends = torch.cat([first[1:], torch.ones_like(first[:1])]) | (discount == 0)
    length, width = reward.shape
    last = torch.arange(length, device=reward.device).unsqueeze(1).expand(length, width)
    total, factor = reward.clone(), torch.full_like(reward, gamma)
    for _ in range(n - 1):
        going = ~ends.gather(0, last)
        last = torch.where(going, last + 1, last)
        total = torch.where(going, torch.addcmul(total, factor, reward.gather(0, last)), total)
        factor = torch.where(going, factor * gamma, factor)
    place = last * width + torch.arange(width, device=reward.device)
    if valid is not None:
        place = (valid.flatten().cumsum(0) - 1)[place]
    return total, torch.where(discount.gather(0, last) > 0, factor, 0.0), real(place, valid)


@dataclass(frozen=True)
class View:
    """Observations, or true successors, of the M single steps within sequences [L, B, ...]."""

    steps: Batch
    """Columns [L, B, ...]."""
    before: Batch
    """obs and first [W, B, ...] of the burn-in steps, which only refresh the recurrent state."""
    states: Mapping[str, Tensor]
    """Stored states [B, S] before the burn-in, by the name of each recurrent network."""
    valid: Tensor | None
    """[L, B], False for dummy steps, which are not among the M."""
    successors: bool = False
    last: Tensor | None = None
    """Place among the M of the last step of the n-step return that begins at each [M]; None for returns of one step."""

    def _of_last(self, following: Tensor) -> Tensor:
        """Returns what belongs to the successors of single steps [M, ...] for the ends of n-step returns."""
        return following if self.last is None else following[self.last]

    def single_steps(self) -> Tensor | None:
        """Returns the observations of the M steps [M, ...], or their successors; None if these are not stored."""
        column = self.steps.get("next_obs" if self.successors else "obs")
        if column is None:
            return None
        return self._of_last(real(column, self.valid)) if self.successors else real(column, self.valid)

    def through(self, network: nn.Module, name: str) -> Tensor:
        """Returns outputs [M, ...]; for true successors of a recurrent network, without gradients."""
        if isinstance(network, Recurrent):
            return self.both(network, name)[1] if self.successors else self._unrolled(network, name)
        return network(self.single_steps())

    def both(self, network: Recurrent, name: str) -> tuple[Tensor, Tensor]:
        """Returns outputs for the observations and their successors, [M, ...] each, from one pass."""
        steps, state = self.steps, self._state(network, name)
        out, following = network.unroll_both(steps["obs"], steps["next_obs"], state, steps["first"])
        return real(out, self.valid), self._of_last(real(following, self.valid))

    def _unrolled(self, network: Recurrent, name: str) -> Tensor:
        steps = self.steps
        return real(network.unroll(steps["obs"], self._state(network, name), steps["first"]), self.valid)

    def priorities(self, errors: Tensor, eta: float) -> Tensor:
        """Returns a priority of each sequence [B]: eta max + (1 - eta) mean of the TD errors [M] of its steps
        (Kapturowski et al., 2019, section 2.3)."""
        first = self.steps["first"]
        if self.valid is None:
            each = errors.view(first.shape)
            return eta * each.amax(0) + (1 - eta) * each.mean(0)
        each = torch.zeros(first.shape, dtype=errors.dtype, device=errors.device).masked_scatter(self.valid, errors)
        return eta * each.amax(0) + (1 - eta) * each.sum(0) / self.valid.sum(0).clamp(min=1)

    @torch.no_grad()
    def _state(self, network: Recurrent, name: str) -> Tensor:
        return network.state_after(self.before["obs"], self.states[name], self.before["first"])


Observed = Tensor | View
"""Observations of single steps [M, ...], plain or within sequences."""
