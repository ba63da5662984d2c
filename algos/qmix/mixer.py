"""Mixers: the value of all agents from the values of their actions."""

from torch import Tensor
from torch.nn import functional as F


def monotonic(values: Tensor, weights: Tensor) -> Tensor:
    """Returns Q_tot [M] = |w2| . elu(q |W1| + b1) + b2 for the values q [M, S] of the agents' actions (Rashid et al.,
    2018, section 4): it never falls when one of them grows. weights [M, (S + 2) H + 1] are W1, b1, w2 and b2."""
    agents = values.shape[1]
    hidden = weights.shape[1] // (agents + 2)
    first, bias, second, offset = weights.split([agents * hidden, hidden, hidden, 1], 1)
    inner = values.unsqueeze(1) @ first.abs().unflatten(1, (agents, hidden))  # [M, 1, H]
    return (F.elu(inner.squeeze(1) + bias) * second.abs()).sum(1) + offset.squeeze(1)


def outputs(agents: int, hidden: int) -> int:
    """Returns the number of weights of the monotonic mixer, which a network gives for each state."""
    return (agents + 2) * hidden + 1
