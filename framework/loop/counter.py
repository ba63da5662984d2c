"""Counts steps, episodes and updates, which the schedules of a run follow."""

from algos.base import Progress
from config.model.course import RunLength
from framework.loop.curriculum import Phases
from framework.loop.iteration import Count


class Counter:
    """The amount of training so far."""

    def __init__(self, length: RunLength, phases: Phases) -> None:
        """length: planned one of the run. phases: those of the curriculum."""
        self.length, self.phases = length, phases
        self.count = Count()

    def accepted(self, steps: int, episodes: int) -> None:
        """Counts the steps of a fragment, and the episodes that ended in it."""
        step, episode, update = self.count
        self.count = Count(step + steps, episode + episodes, update)

    def learned(self, updates: int) -> None:
        """Counts updates."""
        self.count = self.count._replace(update=self.count.update + updates)

    def progress(self) -> Progress:
        """Returns the counts and the share of the planned run, for schedules. Never depends on the clock."""
        return Progress(*self.count, self.length.share(*self.count), self.phases.now)
