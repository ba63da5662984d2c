"""Prioritized sampling in proportion to priority (Schaul et al., 2016), for many samples at once."""

import numpy as np


class SumTree:
    """A binary tree of sums over leaves. Every parent is computed from its children: rounding errors never add up."""

    def __init__(self, leaves: int) -> None:
        self._base = 1 << max(0, leaves - 1).bit_length()
        self._sums = np.zeros(2 * self._base)
        self._changed = np.zeros(leaves, bool)
        self.highest = 1.0
        """Highest priority so far: the priority of new transitions."""

    def set(self, leaves: np.ndarray, priorities: np.ndarray) -> None:
        """Sets priorities of leaves. The last value counts for a leaf that is named twice."""
        if not leaves.size:
            return
        leaves = leaves.reshape(-1)
        self._sums[leaves + self._base] = priorities.reshape(-1)
        self._changed[leaves] = True
        self.highest = max(self.highest, float(priorities.max()))
        if leaves.size == 1:
            self._update_path(int(leaves[0]))
        else:
            self._update_levels(leaves)

    def _update_path(self, leaf: int) -> None:
        """Computes the sums above one leaf: without arrays, which would take most of the time."""
        sums, node = self._sums, (leaf + self._base) >> 1
        while node:
            sums[node] = sums[2 * node] + sums[2 * node + 1]
            node >>= 1

    def _update_levels(self, leaves: np.ndarray) -> None:
        """Computes the sums above these leaves. A parent of several leaves is computed as often, which is faster than
        finding those; a level with fewer nodes than leaves is computed as a whole."""
        sums, nodes, level = self._sums, leaves + self._base, self._base
        while level > 1:
            nodes, level = nodes >> 1, level >> 1
            if level <= nodes.size:
                below = sums[2 * level : 4 * level]
                np.add(below[::2], below[1::2], out=sums[level : 2 * level])
            else:
                sums[nodes] = sums[2 * nodes] + sums[2 * nodes + 1]

    def draw(
        self, shape: tuple[int, int], rng: np.random.Generator, beta: float, size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns places [K, B], one from each of B equal parts of the total, and their importance-sampling weights,
        at most 1. size: number of transitions in the memory."""
        parts = (np.arange(shape[1]) + rng.random(shape)) / shape[1]
        rest = parts * self._sums[1]
        node = np.ones(shape, np.int64)
        while node[0, 0] < self._base:
            node *= 2
            left = self._sums[node]
            right = (rest >= left) & (self._sums[node + 1] > 0)  # rounding must not lead past the last filled leaf
            rest -= np.where(right, left, 0.0)
            node += right
        place = node - self._base
        share = self._sums[place + self._base] / self._sums[1]
        weights = (size * share) ** -beta
        return place, (weights / weights.max(axis=1, keepdims=True)).astype(np.float32)

    def changes(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first leaves, at most so many, that changed since forget_changes(), and their priorities."""
        leaves = np.flatnonzero(self._changed)[:most]
        return leaves, self._sums[leaves + self._base]

    def forget_changes(self, leaves: np.ndarray | slice) -> None:
        """Counts these leaves as unchanged."""
        self._changed[leaves] = False

    def count_all_as_changed(self) -> None:
        """Counts every leaf with a priority as changed."""
        self._changed[:] = self._sums[self._base : self._base + len(self._changed)] != 0
