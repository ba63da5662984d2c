"""The planned length of a run, of which schedules follow the share that is done."""

from typing import NamedTuple


class RunLength(NamedTuple):
    """Limits of a run in what is counted. A number that is not above 0 is no limit."""

    steps: int
    """Environment steps, over all rows."""
    iteration_steps: int
    """Environment steps of all iterations."""
    episodes: int
    updates: int

    def share(self, step: int, episode: int, update: int) -> float:
        """Returns the fraction of the run that is done, by the nearest limit; 0 without limits."""
        done = step, step, episode, update
        shares = (count / limit for count, limit in zip(done, self, strict=True) if limit > 0)
        return min(1.0, max(shares, default=0.0))
