"""Values as distributions over evenly spaced numbers (bins), learned as classes.

M or B samples, n critics, K bins."""

import torch
from torch import Tensor


def project(probability: Tensor, atoms: Tensor, support: Tensor) -> Tensor:
    """Projects a distribution with probabilities [M, K] of returns at `atoms` [M, K] onto the evenly spaced `support`
    [K]: each atom's share goes to its two neighbors (Bellemare et al., 2017, algorithm 1)."""
    spacing = support[1] - support[0]
    place = (atoms.clamp(support[0], support[-1]) - support[0]) / spacing  # in atoms, 0 .. K - 1
    # [M, K support, K atoms]: how near each atom is to each point of the support, from 1 (on it) to 0
    near = (1 - (place.unsqueeze(1) - torch.arange(len(support), device=place.device).unsqueeze(1)).abs()).clamp_(min=0)
    return (near * probability.unsqueeze(1)).sum(2)


def scattered(probability: Tensor, atoms: Tensor, support: Tensor) -> Tensor:
    """Returns what `project` does, without its tensor [M, K, K]: for many bins this is faster."""
    spacing = support[1] - support[0]
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
