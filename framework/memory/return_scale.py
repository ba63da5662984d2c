"""A scale of rewards by the discounted returns of the steps that a memory gets."""

import numpy as np

from algos.base import Tree

EPSILON = 1e-8


class ReturnScale:
    """Tracks G, the discounted sum of the rewards of each row since its episode began, over all steps added."""

    def __init__(self, gamma: float, limit: float) -> None:
        """limit: largest size of G after scaling."""
        self.gamma, self.limit = gamma, limit
        self.returns: dict[int, np.ndarray] = {}
        """Ring -> G of its rows [N]."""
        self.count, self.mean, self.squares, self.largest = 0.0, 0.0, 0.0, 0.0

    def add(self, ring: int, reward: np.ndarray, end: np.ndarray, valid: np.ndarray | None = None) -> None:
        """Adds steps [T, N] of a ring. end: True where an episode ends; valid: False for dummy steps."""
        rows = reward.shape[1]
        total = self.returns.get(ring, np.zeros(rows))
        if len(total) != rows:
            total = np.zeros(rows)
        for step in range(len(reward)):
            real = np.ones(rows, bool) if valid is None else valid[step]
            total = np.where(real, reward[step] + self.gamma * total, total)
            self._merge(total[real])
            total = np.where(end[step] & real, 0.0, total)
        self.returns[ring] = total

    def cut(self, ring: int, rows: np.ndarray) -> None:
        """Begins rows [N] anew whose episode broke off."""
        if ring in self.returns:
            self.returns[ring] = np.where(rows, 0.0, self.returns[ring])

    def _merge(self, values: np.ndarray) -> None:
        if not len(values):
            return
        count = self.count + len(values)
        delta = float(values.mean()) - self.mean
        self.squares += float(np.square(values - values.mean()).sum()) + delta**2 * self.count * len(values) / count
        self.mean += delta * len(values) / count
        self.count, self.largest = count, max(self.largest, float(np.abs(values).max()))

    def divisor(self) -> np.float32:
        """Returns what rewards are divided by; 1 before the second step."""
        if self.count < 2:
            return np.float32(1.0)
        return np.float32(max((self.squares / self.count + EPSILON) ** 0.5, self.largest / self.limit))

    def state(self) -> Tree:
        """Returns everything that the next steps depend on."""
        returns = {str(ring): total.tolist() for ring, total in self.returns.items()}
        return {"returns": returns, "numbers": [self.count, self.mean, self.squares, self.largest]}

    def load_state(self, state: Tree) -> None:
        """Restores state()."""
        self.returns = {int(ring): np.array(total) for ring, total in state["returns"].items()}
        self.count, self.mean, self.squares, self.largest = state["numbers"]
