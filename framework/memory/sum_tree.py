"""Prioritized sampling in proportion to priority (Schaul et al., 2016), for many samples at once."""

import numpy as np

_MOST_STALE = 1 << 14
"""Leaves that are set before their parents are computed, at most."""


class SumTree:
    """A binary tree of sums over leaves. Every parent is computed from its children: rounding errors never add up."""

    def __init__(self, leaves: int) -> None:
        self._base = 1 << max(0, leaves - 1).bit_length()
        self._sums = np.zeros(2 * self._base)
        self._changed = np.zeros(leaves, bool)
        self._stale: list[np.ndarray] = []
        """Leaves whose parents are still to be computed: when something is drawn, or there are many of them."""
        self._stale_count = 0
        self.highest = 1.0
        """Highest priority so far: the priority of new transitions."""

    def set(self, leaves: np.ndarray, priorities: np.ndarray) -> None:
        """Sets priorities of leaves. The last value counts for a leaf that is named twice."""
        if not leaves.size:
            return
        leaves = leaves.flatten()  # a copy, which stays as it is until its parents are computed
        self._sums[leaves + self._base] = priorities.reshape(-1)
        self._changed[leaves] = True
        self.highest = max(self.highest, float(priorities.max()))
        self._stale.append(leaves)
        self._stale_count += leaves.size
        if self._stale_count > _MOST_STALE:
            self._settle()

    def _settle(self) -> None:
        """Computes the sums above all leaves that were set since the last time."""
        if self._stale:
            self._update_levels(np.concatenate(self._stale))
            self._stale, self._stale_count = [], 0

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

    def draw(self, shape: tuple[int, int], rng: np.random.Generator, stratified: bool = True) -> np.ndarray:
        """Returns places [K, B], in proportion to priority. stratified: one from each of B equal parts of the total."""
        self._settle()
        parts = rng.random(shape)
        if stratified:
            parts = (np.arange(shape[1]) + parts) / shape[1]
        rest = parts * self._sums[1]
        node = np.ones(shape, np.int64)
        while node[0, 0] < self._base:
            node *= 2
            left = self._sums[node]
            right = (rest >= left) & (self._sums[node + 1] > 0)  # rounding must not lead past the last filled leaf
            rest -= np.where(right, left, 0.0)
            node += right
        return node - self._base

    def weights(self, place: np.ndarray, beta: float, size: int) -> np.ndarray:
        """Returns the importance-sampling weights of places [K, B], at most 1 in each row. size: number of transitions
        in the memory."""
        self._settle()
        share = self._sums[place + self._base] / self._sums[1]
        weights = (size * share) ** -beta
        return (weights / weights.max(axis=1, keepdims=True)).astype(np.float32)

    def of(self, leaves: np.ndarray) -> np.ndarray:
        """Returns the priorities of leaves."""
        return self._sums[leaves + self._base]

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
