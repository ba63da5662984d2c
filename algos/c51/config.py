"""Defaults of C51: DQN's, except for these."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from algos.dqn.config import Config as Family
from config.model.fields import Int, Problem
from config.tell.language import tr


class Config(Family):
    """C51: DQN that learns the distribution of the return."""

    ALIASES = {"Vmin": "v_min", "Vmax": "v_max"}
    HEAD = "categorical"

    loss = "mse"

    n_atoms: Annotated[Int, Field(ge=2)] = 101
    """Number of atoms: returns, evenly spaced from v_min to v_max, whose probabilities are learned."""
    v_min: float = -100.0
    """Lowest atom. No discounted return should be below it; a warning says if targets pile up there."""
    v_max: float = 100.0
    """Highest atom. No discounted return should be above it; at most it is the highest reward of a step / (1 - gamma).
    A warning says if targets pile up there."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.v_min >= self.v_max:
            message = tr("{value} is not less than v_max, {limit}", value=self.v_min, limit=self.v_max)
            yield Problem("v_min", message, depends_on=("v_max",))
