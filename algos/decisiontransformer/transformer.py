"""The network: a causal transformer over returns, observations and actions."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast.layers import accelerate
from algos.common.nets.layers import RandomZeros

FREQUENCIES = 32
LONGEST = 10_000.0
"""Period of the slowest of the frequencies, in steps, over 2 pi."""


class Steps(NamedTuple):
    """Steps of B rows, [L, B, ...]."""

    wanted: Tensor
    """Return that is still to be earned, divided by its scale."""
    obs: Tensor
    action: Tensor
    """Numbers [L, B, A]: one-hot, or as the policy has them."""
    timestep: Tensor
    """Number of the step in its episode."""
    episode: Tensor
    """Equal for the steps of one episode within a row."""


def visible(episode: Tensor) -> Tensor:
    """Returns [B, 1, 3 L, 3 L], true where a token may attend to another one: an earlier one or itself, of the same
    episode [L, B]. Each step has three tokens."""
    of = episode.T.repeat_interleave(3, 1)
    return (of.unsqueeze(2) == of.unsqueeze(1)).tril().unsqueeze(1)


def waves(timestep: Tensor) -> Tensor:
    """Returns sines and cosines [..., 2 FREQUENCIES] of the timestep (Vaswani et al., 2017, section 3.5)."""
    exponent = torch.arange(FREQUENCIES, device=timestep.device) / FREQUENCIES
    angle = timestep.unsqueeze(-1) * torch.exp(-math.log(LONGEST) * exponent)
    return torch.cat([angle.sin(), angle.cos()], -1)


class Block(nn.Module):
    """Causal attention and a network of one hidden layer, each added to its input."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_network = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attend, self.project = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.network = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))
        self.dropout = RandomZeros(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, tokens, size], mask [B, 1, tokens, tokens]."""
        projections = self.attend(self.before_attention(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = projections.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.dropout(self.project(attended.transpose(1, 2).flatten(2)))
        return x + self.dropout(self.network(self.before_network(x)))


class Transformer(nn.Module):
    """Steps [L, B, ...] -> outputs [L, B, out] for the action of each, from what comes before the action."""

    highest: Tensor
    """Highest return of an episode that was learned from."""
    largest: Tensor
    """Largest absolute one."""

    def __init__(
        self, observer: nn.Module, action: int, out: int, size: int, blocks: int, heads: int, dropout: float
    ) -> None:
        """observer: network from observations [M, ...] to [M, size]. action: size of an action."""
        super().__init__()
        self.observer = observer
        self.wanted, self.action = nn.Linear(1, size), nn.Linear(action, size)
        self.timestep = nn.Linear(2 * FREQUENCIES, size)
        self.norm = nn.LayerNorm(size)
        self.dropout = RandomZeros(dropout)
        self.blocks = nn.ModuleList(Block(size, heads, dropout) for _ in range(blocks))
        self.output = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, out))
        accelerate(self.wanted, self.action, self.timestep, self.blocks, self.output)
        self.register_buffer("highest", torch.tensor(-math.inf))
        self.register_buffer("largest", torch.tensor(0.0))

    def forward(self, steps: Steps) -> Tensor:
        obs = self.observer(steps.obs.flatten(0, 1)).unflatten(0, steps.wanted.shape)
        tokens = torch.stack([self.wanted(steps.wanted.unsqueeze(-1)), obs, self.action(steps.action)], 2)
        tokens = tokens + self.timestep(waves(steps.timestep)).unsqueeze(2)
        x = self.dropout(self.norm(tokens.transpose(0, 1).flatten(1, 2)))
        mask = visible(steps.episode)
        for block in self.blocks:
            x = block(x, mask)
        return self.output(x[:, 1::3]).transpose(0, 1)

    def set_returns(self, highest: Tensor, largest: Tensor) -> None:
        """Sets the highest and the largest absolute return of the data."""
        self.highest.copy_(highest)
        self.largest.copy_(largest)
