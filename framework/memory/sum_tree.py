"""Prioritized sampling in proportion to priority (Schaul et al., 2016), for many samples at once."""

import numpy as np

_WIDTH = 16
"""Number of leaves in a block: half of the search goes through the sums of blocks, and half through one block."""
_MOST_STALE = 1 << 14
"""Leaves that are set before the sums of their blocks are computed, at most."""


class SumTree:
    """Sums of blocks of leaves, and of all. Each sum is computed from its parts: rounding errors never add up."""

    def __init__(self, leaves: int) -> None:
        blocks = -(-leaves // _WIDTH)
        self._blocks = np.zeros((blocks, _WIDTH))
        self._leaves = self._blocks.reshape(-1)
        self._sums = np.zeros(blocks)
        """Sum of each block."""
        self._until = np.zeros(blocks + 1)
        """Sum of all blocks before each one, and of all of them."""
        self._last = 0
        """Last block with a sum above 0."""
        self._changed = np.zeros(leaves, bool)
        self._stale: list[np.ndarray] = []
        """Leaves whose sums are still to be computed: when something is drawn, or there are many of them."""
        self._stale_count = 0
        self.highest = 1.0
        """Highest priority so far: the priority of new transitions."""

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_leaves"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)  # copies and pickles keep one array, seen in two shapes
        self._leaves = self._blocks.reshape(-1)

    def set(self, leaves: np.ndarray, priorities: np.ndarray) -> None:
        """Sets priorities of leaves. The last value counts for a leaf that is named twice."""
        if not leaves.size:
            return
        leaves = leaves.flatten()  # a copy, which stays as it is until the sums are computed
        self._leaves[leaves] = priorities.reshape(-1)
        self._changed[leaves] = True
        self.highest = max(self.highest, float(priorities.max()))
        self._stale.append(leaves)
        self._stale_count += leaves.size
        if self._stale_count > _MOST_STALE:
            self._settle()

    def _settle(self) -> None:
        """Computes the sums of the blocks in which leaves were set since the last time. A block is summed as often as
        it has such leaves, which is faster than finding those."""
        if not self._stale:
            return
        if self._stale_count >= len(self._sums):
            self._sums[:] = self._blocks.sum(-1)
        else:
            block = np.concatenate(self._stale) // _WIDTH
            self._sums[block] = self._blocks.take(block, 0).sum(-1)
        self._stale, self._stale_count = [], 0
        np.cumsum(self._sums, out=self._until[1:])
        self._last = int(self._until.searchsorted(self._until[-1])) - 1

    def draw(self, shape: tuple[int, int], rng: np.random.Generator, stratified: bool = True) -> np.ndarray:
        """Returns places [K, B], in proportion to priority. stratified: one from each of B equal parts of the total."""
        self._settle()
        rest = rng.random(shape)
        if stratified:
            rest += np.arange(shape[1])
            rest /= shape[1]
        rest *= self._until[-1]
        block = self._until[1:].searchsorted(rest, side="right")
        block[block == len(self._sums)] = self._last  # rounding must not lead past the last filled block
        rest -= self._until.take(block)
        leaves = self._blocks.take(block, 0)
        inside = (leaves.cumsum(-1) <= rest[..., None]).sum(-1)
        if (inside == _WIDTH).any():  # nor past the last filled leaf of a block
            inside = np.minimum(inside, _WIDTH - 1 - (leaves[..., ::-1] > 0).argmax(-1))
        return block * _WIDTH + inside

    def weights(self, place: np.ndarray, beta: float) -> np.ndarray:
        """Returns the importance-sampling weights of places [K, B], divided by the largest of each row: the number of
        transitions and the sum of all priorities cancel out."""
        leaves = self._leaves.take(place)
        return ((leaves / leaves.min(axis=1, keepdims=True)) ** -beta).astype(np.float32)

    def of(self, leaves: np.ndarray) -> np.ndarray:
        """Returns the priorities of leaves."""
        return self._leaves[leaves]

    def changes(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first leaves, at most so many, that changed since forget_changes(), and their priorities."""
        leaves = np.flatnonzero(self._changed)[:most]
        return leaves, self._leaves[leaves]

    def forget_changes(self, leaves: np.ndarray | slice) -> None:
        """Counts these leaves as unchanged."""
        self._changed[leaves] = False

    def count_all_as_changed(self) -> None:
        """Counts every leaf with a priority as changed."""
        self._changed[:] = self._leaves[: len(self._changed)] != 0
