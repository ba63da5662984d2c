"""A finite world with known values, and batches for tables."""

import numpy as np
import torch
from gymnasium.spaces import Discrete

from algos.base import Agent, Array, Batch, Progress, Result
from envs.base import Step, VectorEnv


class RandomWalk(VectorEnv):
    """Places 0 to 6, begun at 3. Action 0 goes left, 1 right; 0 and 6 end it, and 6 gives 1 (Sutton and Barto, 2018,
    example 6.2). By chance alone the value of place i is i / 6. With `wall`, nobody may go left from place 3: there it
    is illegal, and raises; and after 20 steps it is cut off."""

    observation_space, action_space = Discrete(7), Discrete(2)

    def __init__(self, rows: int, wall: bool = False) -> None:
        self.rows, self._wall = rows, wall
        self._place, self._time = np.full(rows, 3), np.zeros(rows, np.int64)

    def reset(self, mask: Array, seeds: Array) -> Array:
        self._place, self._time = np.where(mask, 3, self._place), np.where(mask, 0, self._time)
        return self._seen()

    def step(self, action: Array) -> Step:
        assert not self._wall or self.action_mask[np.arange(self.rows), action].all(), "an illegal action"
        self._place, self._time = self._place + 2 * action - 1, self._time + 1
        ended = (self._place == 0) | (self._place == 6)
        late = self._wall & (self._time == 20) & ~ended
        return Step(self._seen(), (self._place == 6).astype(np.float32), ended, late)

    def _seen(self) -> Array:
        if self._wall:
            self.action_mask = np.stack([self._place != 3, np.ones(self.rows, bool)], axis=1)
        return self._place.copy()


def window(**columns: list) -> Batch:
    """Columns [T, N] from lists of rows of steps; flags that are not named are false."""
    given = {name: torch.as_tensor(value) for name, value in columns.items()}
    none = torch.zeros(given["reward"].shape, dtype=torch.bool)
    return {"terminated": none, "truncated": none, **given}


def learned(agent: Agent, chunk: Batch, progress: Progress | None = None) -> Result:
    """prepare and update, as the learner calls them."""
    prepared = agent.prepare(chunk, progress or Progress())
    flat = {name: value.flatten(0, 1) for name, value in prepared.items()}
    valid = flat.pop("valid", None)
    return agent.update(flat if valid is None else {name: value[valid] for name, value in flat.items()})
