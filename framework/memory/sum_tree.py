"""Prioritized sampling in proportion to priority (Schaul et al., 2016), for many samples at once."""

import numpy as np

_WIDTH = 32
"""Number of leaves in a block: half of the search goes through the sums of blocks, and half through one block."""
_MOST_STALE = 1 << 14
"""Leaves that are set before the running sums are computed, at most."""


class SumTree:
    """Running sums of leaves within blocks, and of the blocks. Each is computed from its parts: rounding errors never
    add up."""

    def __init__(self, leaves: int) -> None:
        blocks = -(-leaves // _WIDTH)
        self._leaves = np.zeros(blocks * _WIDTH)
        self._inside = np.zeros((blocks, _WIDTH + 1))
        """Running sums of the leaves of each block, from 0."""
        self._until = np.zeros(blocks + 1)
        """Running sums of the blocks, from 0."""
        self._changed = np.zeros(leaves, bool)
        self._stale: list[np.ndarray] = []
        """Leaves whose sums are still to be computed: when something is drawn, or there are many of them."""
        self._stale_count = 0
        self.highest = 1.0
        """Highest priority so far: the priority of new transitions."""

    def set(self, leaves: np.ndarray, priorities: np.ndarray, largest: float | None = None) -> None:
        """Sets priorities of leaves. The last value counts for a leaf that is named twice. largest: their maximum, if
        it is known."""
        if not leaves.size:
            return
        leaves = leaves.flatten()  # a copy, which stays as it is until the sums are computed
        self._leaves[leaves] = priorities.reshape(-1)
        self._changed[leaves] = True
        self.highest = max(self.highest, float(np.maximum.reduce(priorities, None)) if largest is None else largest)
        self._stale.append(leaves)
        self._stale_count += leaves.size
        if self._stale_count > _MOST_STALE:
            self._settle()

    def _settle(self) -> None:
        """Computes the running sums in which leaves were set since the last time. Those of a block are computed as
        often as it has such leaves, which is faster than finding those."""
        if not self._stale:
            return
        stale = self._stale[0] if len(self._stale) == 1 else np.concatenate(self._stale)
        block = stale // _WIDTH if len(stale) < len(self._inside) else np.arange(len(self._inside))
        self._stale, self._stale_count = [], 0
        self._inside[block, 1:] = np.add.accumulate(self._leaves.reshape(-1, _WIDTH).take(block, 0), -1)
        np.add.accumulate(self._inside[:, -1], out=self._until[1:])

    def draw(self, shape: tuple[int, int], rng: np.random.Generator, stratified: bool = True) -> np.ndarray:
        """Returns places [K, B], in proportion to priority. stratified: one from each of B equal parts of the total."""
        self._settle()
        remainder = rng.random(shape)
        if stratified:
            remainder += np.arange(shape[1])
            remainder /= shape[1]
        until, remainder = self._until, remainder.reshape(-1)
        remainder *= until[-1]
        block = until[1:].searchsorted(remainder, side="right")
        if np.maximum.reduce(block) == len(self._inside):  # rounding must not lead past the last filled block
            block = np.minimum(block, until.searchsorted(until[-1]) - 1)
        remainder -= until.take(block)
        sums = self._inside.take(block, 0)
        beyond = sums[:, 1:] <= remainder[:, None]
        inside = beyond.argmin(-1)
        if np.logical_or.reduce(beyond[:, -1]):  # nor past the last filled leaf of a block
            inside = np.where(beyond[:, -1], (sums < sums[:, -1:]).sum(-1) - 1, inside)
        return (block * _WIDTH + inside).reshape(shape)

    def weights(self, place: np.ndarray, beta: float) -> np.ndarray:
        """Returns the importance-sampling weights of places [K, B], divided by the largest of each row: the number of
        transitions and the sum of all priorities cancel out."""
        leaves = self._leaves.take(place)
        return ((leaves / leaves.min(axis=1, keepdims=True, initial=np.inf)) ** -beta).astype(np.float32)

    def of(self, leaves: np.ndarray) -> np.ndarray:
        """Returns the priorities of leaves."""
        return self._leaves[leaves]

    def changes(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first leaves, at most this many, that changed since forget_changes(), and their priorities."""
        leaves = np.flatnonzero(self._changed)[:most]
        return leaves, self._leaves[leaves]

    def forget_changes(self, leaves: np.ndarray | slice) -> None:
        """Counts these leaves as unchanged."""
        self._changed[leaves] = False

    def count_all_as_changed(self) -> None:
        """Counts every leaf with a priority as changed."""
        self._changed[:] = self._leaves[: len(self._changed)] != 0
