"""Hindsight experience replay (Andrychowicz et al., 2017), strategy "future".

The desired goal of a sample is replaced by a goal that was achieved later in the same episode, so that a failed episode
teaches how to reach the states that it did reach.
"""

import numpy as np

from config.model.memory_spec import ReplaySpec
from envs.base import Goal
from framework.collect.fragment import Columns
from framework.memory.ring import clipped


class Hindsight:
    """Knows the end of the episode of each step in a ring [L, N], which follows from the column `end`."""

    def __init__(self, spec: ReplaySpec, goal: Goal, next_obs: np.ndarray) -> None:
        self.spec, self.goal = spec, goal
        self._length, self._rows = next_obs.shape[:2]
        self._achieved = next_obs.reshape(self._length * self._rows, -1)[:, goal.achieved]
        """Achieved goals [L * N, G], a view of the ring."""
        self._last = np.full((self._length, self._rows), -1, np.int64)
        """Number of the last step of each step's episode [L, N]; -1 while it runs."""
        self._born = np.zeros(self._rows, np.int64)
        """Number of the first step of each row's running episode [N]."""

    def added(self, first: int, end: np.ndarray) -> None:
        """Updates the ends of episodes for new steps first, first + 1, ... with the column `end` [T, N]."""
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
        """Replaces the desired goal of the chosen samples [K, B], given their places in the flat ring and the numbers
        of their steps, and updates obs, next_obs, reward and discount. The last step of an episode can only get the
        goal that it achieved itself, and stays the last one."""
        goals = self._achieved[self._later(place[chosen], step[chosen], newest, rng)]
        for name in ("obs", "next_obs"):
            columns[name][..., self.goal.desired][chosen] = goals
        reward, terminated = self.goal.judge(columns["next_obs"][..., self.goal.achieved][chosen], goals)
        columns["reward"][chosen] = clipped(reward, self.spec.reward_clip)
        columns["discount"][chosen] *= ~terminated

    def _later(self, place: np.ndarray, step: np.ndarray, newest: int, rng: np.random.Generator) -> np.ndarray:
        """Returns places of steps of the same episodes, drawn uniformly from the step itself to the last one, or to the
        newest one if the episode still runs."""
        last = self._last.reshape(-1)[place]
        ahead = rng.integers(0, np.where(last < 0, newest, last) - step + 1)
        return (place + ahead * self._rows) % self._last.size
