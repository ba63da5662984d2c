"""Agents that only act: they have no weights, and learn nothing."""

from algos.base import Array, Batch, Result, Tree


class Weightless:
    """The part of an agent's contract that is about learning, for one that does not learn. Comes before base.Agent."""

    def update(self, batch: Batch) -> Result:
        """Changes nothing."""
        return Result({})

    def weights(self) -> dict[str, Array]:
        return {}

    def load_weights(self, weights: dict[str, Array]) -> None:
        pass

    def state(self) -> Tree:
        return {}

    def load_state(self, state: Tree) -> None:
        pass
