"""Hindsight: goals that were reached later in an episode take the place of those that were wanted.

Andrychowicz et al. (2017), strategy "future": an episode that failed teaches how to get to where it came.
"""

import numpy as np

from config.schema import ReplaySpec
from envs.base import Goal
from framework.fragment import Columns
from framework.memory.rewards import clipped


class Hindsight:
    """Knows of each step in a ring [L, N] where its episode ends; all of that follows from the column `end`."""

    def __init__(self, spec: ReplaySpec, goal: Goal, next_obs: np.ndarray) -> None:
        self.spec, self.goal = spec, goal
        self._length, self._rows = next_obs.shape[:2]
        self._achieved = next_obs.reshape(self._length * self._rows, -1)[:, goal.achieved]
        """[L * N, G], a view of the memory."""
        self._last = np.full((self._length, self._rows), -1, np.int64)
        """Number of the last step of the episode; -1 while it runs."""
        self._born = np.zeros(self._rows, np.int64)
        """Number of the first step of each row's running episode."""

    def added(self, first: int, end: np.ndarray) -> None:
        """Steps first, first + 1, ... with their ends [T, N] are in the ring."""
        after = first + len(end)
        oldest = max(0, after - self._length)
        self._last[np.arange(max(first, oldest), after) % self._length] = -1
        for t, row in np.argwhere(end).tolist():
            steps = np.arange(max(self._born[row], oldest), first + t + 1)
            self._last[steps % self._length, row] = first + t
            self._born[row] = first + t + 1

    def relabel(
        self,
        columns: Columns,
        chosen: np.ndarray,
        place: np.ndarray,
        step: np.ndarray,
        newest: int,
        rng: np.random.Generator,
    ) -> None:
        """Change the chosen ones of the samples [K, B], which are steps of these numbers at these places of the flat
        ring, as if what they reached later had been wanted: the goal in obs and next_obs, the reward, the discount. A
        step that ended its episode, whatever for, can only want what it reached itself, and still ends it."""
        wanted = self._achieved[self._later(place[chosen], step[chosen], newest, rng)]
        for name in ("obs", "next_obs"):
            columns[name][..., self.goal.desired][chosen] = wanted
        reward, terminated = self.goal.judge(columns["next_obs"][..., self.goal.achieved][chosen], wanted)
        columns["reward"][chosen] = clipped(reward, self.spec.reward_clip)
        columns["discount"][chosen] *= ~terminated

    def _later(self, place: np.ndarray, step: np.ndarray, newest: int, rng: np.random.Generator) -> np.ndarray:
        """Places of steps of the same episodes: uniform from the step itself to the last, or to the newest where the
        episode still runs."""
        last = self._last.reshape(-1)[place]
        ahead = rng.integers(0, np.where(last < 0, newest, last) - step + 1)
        return (place + ahead * self._rows) % self._last.size
