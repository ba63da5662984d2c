"""Transitions as they are read from a buffer: stacks of observations, and the observation after each step."""

from typing import Any

import numpy as np

from framework.data import neighbors
from framework.data.batch import Batch
from framework.data.episodes import Beyond
from framework.data.table import Table
from framework.memory.ring import Array


class Reader:
    """Reads values of places from a table."""

    def __init__(self, table: Table, beyond: Beyond, stack_num: int) -> None:
        self.table, self.beyond, self.stack_num = table, beyond, stack_num

    def at(self, place: Array) -> Batch:
        """Returns the transitions at these places [K], or at one place."""
        if not place.ndim:
            row: Batch = self.at(place[None])[0]
            return row
        table = self.table
        data = {key: table.read(key, place) for key in table.tree if key not in ("obs", "obs_next")}
        if data:
            data["obs"] = self.stacked("obs", place, self.stack_num)
            data["obs_next"] = self.after(place, self.stack_num)
        for key in ("info", "policy"):
            if key not in data:
                data[key] = Batch.of({})
        return Batch.of(data)

    def stacked(self, key: str, place: Array, count: int) -> Any:
        """Returns the values [..., count, ...] of a key at the places and before them in the episode."""
        if count == 1:
            return self.table.read(key, place)
        chain = [place]
        for _ in range(count - 1):
            chain.append(neighbors.previous(self.table.rings, chain[-1]))
        return self.table.read(key, np.stack(chain[::-1], axis=place.ndim))

    def after(self, place: Array, count: int) -> Any:
        """Returns the observations after these places [K]. Where none are stored it is that of the next step; that of
        the step itself where an episode terminated or goes on outside of the buffer."""
        if "obs_next" in self.table.tree:
            return self.stacked("obs_next", place, count)
        stacks = self.stacked("obs", neighbors.following(self.table.rings, place), count)
        self.beyond.replace_in(stacks, place, count)
        return stacks
