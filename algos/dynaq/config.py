"""Defaults of Dyna-Q."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from algos.common.settings import TableConfig
from config.model.fields import Int, NonNegative, Problem
from config.model.memory_spec import RolloutSpec
from config.model.schedules import TableRate
from config.model.schema import run
from config.tell.language import tr


class Config(TableConfig):
    """Dyna-Q: Q-learning from every step, and from simulated steps of a learned model."""

    RUN = run(episodes=500, save=5000)
    READ_WITH = {"priority_threshold": ("planning", ("prioritized",))}

    lr: TableRate = 0.5
    """Learning rate: share of the TD error by which a value changes."""
    n_planning: Annotated[Int, Field(ge=0)] = 10
    """Number of updates from the model after each environment step."""
    planning: Literal["random", "prioritized"] = "random"
    """Pairs that are planned with: random, drawn from those that were tried; prioritized, those whose value would
    change most come first, and the pairs that lead to them next (PrioritizedSweeping)."""
    priority_threshold: NonNegative = 1e-4
    """Smallest change of a value for which a pair is planned with, with planning prioritized."""
    kappa: NonNegative = 0.0
    """Weight of the bonus that Dyna-Q+ adds to planned rewards: kappa sqrt(t), t time steps after the pair was last
    tried. Actions that were never tried in a visited state are planned with too."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.planning == "prioritized" and not self.n_planning:
            message = tr("is 0, and with planning prioritized nothing is learned but by planning")
            yield Problem("n_planning", message, depends_on=("planning",))
        if self.kappa and self.planning == "prioritized":
            message = tr("its bonus grows with time, and priorities do not; set planning to random")
            yield Problem("kappa", message, depends_on=("planning",))

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=1)
