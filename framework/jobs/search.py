"""Chooses the settings of trials: all points of the grids, and draws from named streams."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from config.read.search_space import Domain
from framework.seeding import stream

DIGITS = 4
"""Significant digits of a number that is drawn: enough for any setting, and short enough for a table."""
Settings = tuple[Any, ...]
"""A setting for each domain."""


class Outcome(NamedTuple):
    """Outcome of a trial."""

    settings: Settings
    score: float | None
    """Score of its last leg; None for a trial that failed or has no score."""
    legs: int
    """Number of its legs."""
    last: bool
    """True if it was trained to the last rung."""


class Search(Protocol):
    """Chooses the settings of trials, batch by batch. It depends on the seed and on what it was told, and on nothing
    else, so that an interrupted tuning asks for the same trials again."""

    total: int
    """Number of trials of all batches, unless some turn out to be no configuration."""

    def ask(self) -> list[Settings]:
        """Returns the settings of the next trials; none at the end."""

    def tell(self, results: Sequence[Outcome]) -> None:
        """Takes the outcome of each trial of the last batch, in their order."""


class RandomSearch:
    """All points of the grids, `samples` times, each time with new draws for the other settings: one batch."""

    def __init__(self, domains: Sequence[Domain], samples: int, seed: int) -> None:
        self.domains, self.samples, self.seed = domains, samples, seed
        self.asked = False
        self.total = samples * math.prod(len(domain.values) for domain in domains if domain.kind == "grid")

    def ask(self) -> list[Settings]:
        grids = [domain.values for domain in self.domains if domain.kind == "grid"]
        points = [point for _ in range(self.samples) for point in itertools.product(*grids)]
        batch = [] if self.asked else [self._settings(number, point) for number, point in enumerate(points)]
        self.asked = True
        return batch

    def _settings(self, number: int, point: Sequence[Any]) -> Settings:
        """Returns the settings of a trial at a point of the grids. A stream depends on trial and setting alone: more
        samples, or a further setting, change no other draw."""
        of_grid = iter(point)
        return tuple(
            next(of_grid) if domain.kind == "grid" else draw(domain, stream(self.seed, f"tune {domain.path}", number))
            for domain in self.domains
        )

    def tell(self, results: Sequence[Outcome]) -> None:
        """Draws do not depend on scores."""


def draw(domain: Domain, random: np.random.Generator) -> Any:
    """Returns a value of a domain."""
    low, high = domain.values[0], domain.values[-1]
    if domain.kind == "int":
        return int(random.integers(low, high, endpoint=True))
    if domain.kind == "uniform":
        return within(domain, random.uniform(low, high))
    if domain.kind == "log":
        return within(domain, math.exp(random.uniform(math.log(low), math.log(high))))
    return domain.values[random.integers(len(domain.values))]


def within(domain: Domain, value: float) -> Any:
    """Returns the number of the domain next to a value: rounded, and not beyond the bounds."""
    low, high = domain.values
    rounded = round(value) if domain.kind == "int" else float(f"{value:.{DIGITS}g}")
    return min(max(rounded, low), high)
