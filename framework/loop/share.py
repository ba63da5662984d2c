"""The part of one learner among several, which divide every minibatch."""

import hashlib
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch

from algos.base import Batch
from algos.common.fast.tensors import multiply


class Share:
    """Cuts this learner's part out of minibatches, and averages over all learners."""

    def __init__(self, rank: int, world: int, total: Callable[[list[torch.Tensor]], None]) -> None:
        """total: replaces tensors by their sums over all learners, in place (all-reduce)."""
        self.rank, self.world, self._total = rank, world, total
        self._weight = 1.0
        """Share of the samples of the latest minibatch that belong to this learner."""

    def part(self, batch: Batch) -> Batch:
        """Returns this learner's part of a minibatch [B, ...] or of sequences [L, B, ...]; weight 0 if it is empty."""
        along = 1 if "first" in batch else 0
        total = batch["obs"].shape[along]
        start, stop = total * self.rank // self.world, total * (self.rank + 1) // self.world
        first, count = min(start, total - 1), max(1, stop - start)
        # a part of a larger array may start at any byte (see docs/design/runs_on_disk.md)
        mine = {
            name: value.narrow(0 if name == "state" else along, first, count).clone() for name, value in batch.items()
        }
        self._weight = (stop - start) / total
        if self._weight and "valid" in batch:
            self._weight = float(mine["valid"].sum() / batch["valid"].sum().clamp(min=1))
        return mine

    def average(self, tensors: Iterable[torch.Tensor]) -> None:
        """Averages tensors over all samples of the minibatch, across the learners, in place."""
        tensors = list(tensors)
        self._weigh(tensors)
        self._total(tensors)

    def averaged(self, metrics: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Returns metrics of this part whose mean over the learners is that of the whole minibatch."""
        metrics = {name: value.clone() for name, value in metrics.items()}
        self._weigh(list(metrics.values()))
        return {name: value * self.world for name, value in metrics.items()}

    def _weigh(self, tensors: list[torch.Tensor]) -> None:
        """Multiplies by this learner's share of the samples, in place. The mean of none is NaN, and counts as 0."""
        if self._weight:
            multiply(tensors, self._weight)
        else:
            for tensor in tensors:
                tensor.zero_()


def digest(weights: Mapping[str, np.ndarray]) -> str:
    """Returns a fingerprint of weights, equal only for equal bits."""
    fingerprint = hashlib.sha256()
    for name in sorted(weights):
        fingerprint.update(name.encode() + np.ascontiguousarray(weights[name]).tobytes())
    return fingerprint.hexdigest()
