"""Priorities of the transitions of a buffer, on the sum tree that training uses."""

import math
from typing import Any

import numpy as np
from torch import Tensor

from config.tell.language import tr
from framework.data.values import brief
from framework.errors import DataError
from framework.memory.ring import Array
from framework.memory.sum_tree import SumTree

_SMALLEST = float(np.finfo(np.float32).eps)
"""Added to a priority, so that every transition can be drawn."""


class Priorities:
    """A transition is drawn in proportion to priority^alpha; a new one has the highest priority so far."""

    def __init__(self, size: int, alpha: float, beta: float, stratified: bool) -> None:
        """beta: exponent of the weights of importance sampling. stratified: draws one from each of n equal parts of
        the total, as training does."""
        if not (isinstance(alpha, int | float | np.number) and alpha > 0):
            raise DataError("alpha: got {alpha!r}; expected a number above 0", alpha=alpha)
        self.alpha, self.stratified = alpha, stratified
        self.set_beta(beta)
        self.size = size
        self.tree = SumTree(size)

    def set_beta(self, beta: float) -> None:
        """Sets the exponent of the weights."""
        if not (isinstance(beta, int | float | np.number) and beta >= 0):
            raise DataError("beta: got {beta!r}; expected a number, at least 0", beta=beta)
        self.beta = beta

    def new(self, place: Any) -> None:
        """Gives new transitions the highest priority so far."""
        place = np.atleast_1d(place)
        self.tree.set(place, np.full(len(place), self.tree.highest))

    def set(self, index: Any, priorities: Any) -> None:
        """Sets the priorities of transitions, usually the sizes of their errors."""
        place = np.asarray(index)
        try:
            array = (
                priorities.detach().cpu().numpy() if isinstance(priorities, Tensor) else np.asarray(priorities, float)
            )
        except (TypeError, ValueError):
            raise DataError("priorities are finite numbers; got {value}", value=brief(priorities)) from None
        if array.size != place.size:
            raise DataError("{indices} indices, and {priorities} priorities", indices=place.size, priorities=array.size)
        if not place.size:
            return
        if not np.logical_and.reduce(self.tree.of(place), None):
            raise IndexError(tr("index {index!r}: nothing is stored at some of these places", index=index))
        raised = (np.abs(array) + _SMALLEST) ** self.alpha
        largest = float(np.maximum.reduce(raised, None))  # NaN if any is
        if not math.isfinite(largest):
            raise DataError("priorities are finite numbers; got {value}", value=brief(priorities))
        self.tree.set(place, raised, largest)

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Returns the places [count] of transitions."""
        return self.tree.draw((1, count), rng, self.stratified)[0]

    def weights(self, place: Array) -> Array:
        """Returns the weights of transitions, the largest of which is 1."""
        return self.tree.weights(place[None], self.beta)[0]

    def forget(self) -> None:
        """Has no transitions; a new one still gets the highest priority so far."""
        highest, self.tree = self.tree.highest, SumTree(self.size)
        self.tree.highest = highest

    def facts(self) -> dict[str, Any]:
        """Returns everything but the priorities themselves."""
        settings = {"alpha": self.alpha, "beta": self.beta, "stratified": self.stratified}
        return {"settings": settings, "highest": self.tree.highest}
