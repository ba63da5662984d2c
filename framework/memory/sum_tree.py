"""Draws places in proportion to their priority (Schaul et al., 2016), many at once."""

import numpy as np


class SumTree:
    """A binary tree of sums over leaves; every parent is computed from its children, so sums never drift."""

    def __init__(self, leaves: int) -> None:
        self._base = 1 << max(0, leaves - 1).bit_length()
        self._sums = np.zeros(2 * self._base)
        self._changed = np.zeros(leaves, bool)
        self.highest = 1.0
        """The highest priority so far: that of what has not been learned from yet."""

    def set(self, leaves: np.ndarray, priorities: np.ndarray) -> None:
        """Later entries win where a leaf is named twice."""
        if not leaves.size:
            return
        leaves = leaves.reshape(-1)
        self._sums[leaves + self._base] = priorities.reshape(-1)
        self._changed[leaves] = True
        self.highest = max(self.highest, float(priorities.max()))
        nodes = leaves + self._base
        while nodes[0] > 1:
            nodes = np.unique(nodes >> 1)
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]

    def draw(
        self, shape: tuple[int, int], rng: np.random.Generator, beta: float, size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """[K, B] places, one from each of B equal parts of the total, and their importance weights, at most 1."""
        parts = (np.arange(shape[1]) + rng.random(shape)) / shape[1]
        rest = parts * self._sums[1]
        node = np.ones(shape, np.int64)
        while node[0, 0] < self._base:
            node *= 2
            left = self._sums[node]
            right = (rest >= left) & (self._sums[node + 1] > 0)  # rounding may not step past the last filled leaf
            rest -= np.where(right, left, 0.0)
            node += right
        place = node - self._base
        share = self._sums[place + self._base] / self._sums[1]
        weights = (size * share) ** -beta
        return place, (weights / weights.max(axis=1, keepdims=True)).astype(np.float32)

    def changes(self) -> tuple[np.ndarray, np.ndarray]:
        """Leaves that were set since forget_changes(), and their priorities."""
        leaves = np.flatnonzero(self._changed)
        return leaves, self._sums[leaves + self._base]

    def forget_changes(self) -> None:
        self._changed[:] = False
