"""Counts steps, episodes and updates, which the schedules of a run follow."""

from algos.base import Progress
from config.model.course import RunLength
from framework.loop.curriculum import Phases
from framework.loop.iteration import Count, Place


class Counter:
    """The amount of training so far."""

    def __init__(self, length: RunLength, phases: Phases, offline: int = 0) -> None:
        """length: planned one of the run. phases: those of the curriculum. offline: see Trainer."""
        self.length, self.phases, self.offline = length, phases, offline
        self.count = Count()
        self.place = Place()
        """Place of the running iteration."""
        self._progress = Progress()
        self._progress_of: tuple[Count, Place, float] | None = None
        """Counts, place and phase of that progress, which is asked for several times in a round."""

    def accepted(self, steps: int, episodes: int) -> None:
        """Counts the steps of a fragment, and the episodes that ended in it."""
        step, episode, update = self.count
        self.count = Count(step + steps, episode + episodes, update)

    def learned(self, updates: int) -> None:
        """Counts updates."""
        step, episode, update = self.count
        self.count = Count(step, episode, update + updates)

    @property
    def work(self) -> int:
        """Amount that iterations are measured by: environment steps, and before them the updates from given data."""
        return self.count.step + (self.count.update if self.offline < 0 else min(self.count.update, self.offline))

    def progress(self) -> Progress:
        """Returns the counts and the share of the planned run, for schedules. Never depends on the clock."""
        made_of = self.count, self.place, self.phases.now
        if made_of != self._progress_of:
            before, first, last = self.place
            iterations = before + (min(1.0, (self.work - first) / (last - first)) if last > first else 0.0)
            share = self.length.share(*self.count, iterations)
            self._progress, self._progress_of = Progress(*self.count, share, self.phases.now), made_of
        return self._progress
