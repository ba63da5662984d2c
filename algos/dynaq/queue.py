"""The queue of prioritized sweeping."""

import heapq

import numpy as np

from algos.base import Array, Tree


class Queue:
    """Pairs of state and action, by number, in the order of the change that an update makes, the largest first."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.priority: dict[int, float] = {}
        """Change of each pair that waits."""
        self._heap: list[tuple[float, int]] = []
        """Negative changes and pairs; one that `priority` does not confirm was replaced by a larger one."""

    def push(self, pairs: Array, priorities: Array) -> None:
        """Adds pairs [B] whose change is above the threshold. One that waits already keeps the larger change."""
        for pair, priority in zip(pairs.tolist(), priorities.tolist(), strict=True):
            if priority > max(self.threshold, self.priority.get(pair, 0.0)):
                self.priority[pair] = priority
                heapq.heappush(self._heap, (-priority, pair))

    def pop(self) -> int | None:
        """Returns the first pair, which no longer waits; None if none waits. Of equal ones the lowest number is
        first."""
        while self._heap:
            priority, pair = heapq.heappop(self._heap)
            if self.priority.get(pair) == -priority:
                del self.priority[pair]
                return pair
        return None

    def state(self) -> Tree:
        return {"pair": np.array(list(self.priority), np.int64), "priority": np.array(list(self.priority.values()))}

    def load_state(self, state: Tree) -> None:
        self.priority = dict(zip(state["pair"].tolist(), state["priority"].tolist(), strict=True))
        self._heap = [(-priority, pair) for pair, priority in self.priority.items()]
        heapq.heapify(self._heap)
