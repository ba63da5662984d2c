"""Advantages and returns over a window of columns [T, N]."""

import torch
from torch import Tensor


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
