"""Advantages and returns over a window of columns [T, N]."""

import torch
from torch import Tensor


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
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation (Schulman et al., 2016): all [T, N] -> advantage, return, [T, N] each.

    next_value is the value of the true successor. It counts after a truncation and not after a termination, which
    wins where both are set. Nothing flows backward over an end. Steps with valid false get advantage 0.
    """
    delta = reward + gamma * next_value * ~terminated - value
    decay = gamma * lam * ~(terminated | truncated)
    if valid is not None:
        delta = torch.where(valid, delta, 0.0)
        decay = decay * valid
    steps, decays = delta.unbind(0), decay.unbind(0)
    for t in range(len(steps) - 2, -1, -1):
        steps[t].addcmul_(decays[t], steps[t + 1])
    return delta, delta + value
