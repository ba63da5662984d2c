"""The place where replayed steps stand: for each collector a ring [L, N] in time order per row, all in one array."""

import numpy as np

from algos.base import Array
from framework.errors import JoystickError
from framework.fragment import Columns


class Rings:
    """A place is a number: (ring * L + slot) * N + row. Every function of places is arithmetic on whole arrays."""

    def __init__(self, capacity: int, count: int) -> None:
        self.capacity, self.count = capacity, count
        self.added = np.zeros(count, np.int64)
        """Steps that each collector has given so far; its next slot is this modulo L."""
        self.flat: Columns = {}
        """name -> [places, ...]"""
        self.length = self.rows = 0
        self.steps: Columns = {}
        """The same memory seen as [rings * L, N, ...]."""

    def allocate(self, columns: Columns) -> None:
        """Room for the rings, shaped like these columns [T, N, ...]."""
        self.rows = columns["reward"].shape[1]
        self.length = max(1, self.capacity // (self.rows * self.count))
        try:
            self.steps = {
                name: np.zeros((self.count * self.length, *value.shape[1:]), value.dtype)
                for name, value in columns.items()
            }
        except MemoryError as error:
            raise JoystickError(
                f"a memory of {self.capacity} transitions is more than this machine has; "
                "choose a smaller algo_cfg.buffer_size"
            ) from error
        self.flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in self.steps.items()}

    def of_ring(self, name: str, ring: int) -> Array:
        """A column of one ring [L, N, ...], as a view."""
        return self.steps[name][ring * self.length : (ring + 1) * self.length]

    def write(self, ring: int, columns: Columns) -> None:
        """Add the steps [T, N, ...] of a collector."""
        first = int(self.added[ring])
        self.added[ring] += len(columns["reward"])
        if len(columns["reward"]) == 1:
            at = int(self.slots(ring, first))
            self.put(slice(at, at + 1), columns)
        else:
            self.put(self.slots(ring, np.arange(first, self.added[ring])), columns)

    def put(self, slots: Array | slice, columns: Columns) -> None:
        """Steps [T, N, ...] into these slots [T] of [rings * L]; of several for one slot, the last."""
        for name, whole in self.steps.items():
            whole[slots] = columns[name]

    def history(self, ring: int) -> Columns:
        """All that a ring holds, in time order: copies [T, N, ...]."""
        slots = self.slots(ring, np.arange(self.oldest[ring], self.added[ring]))
        return {name: whole[slots] for name, whole in self.steps.items()}

    # where things stand -----------------------------------------------------------------------------------

    def slots(self, ring: int, step: Array | int) -> Array:
        """Where in [rings * L] the steps of these numbers stand."""
        return np.asarray(ring * self.length + step % self.length)

    def places(self, ring: int, steps: Array) -> Array:
        """Places [T, N] of all rows of the steps of these numbers [T]."""
        return self.slots(ring, steps)[:, None] * self.rows + np.arange(self.rows)

    @property
    def oldest(self) -> Array:
        """Number of the oldest step in each ring."""
        return np.maximum(0, self.added - self.length)

    @property
    def size(self) -> int:
        """Transitions held."""
        return int((self.added - self.oldest).sum()) * self.rows

    def choose(self, rng: np.random.Generator, shape: tuple[int, ...], length: int = 1) -> Array:
        """Places at which pieces of `length` steps begin, drawn uniformly from all that are held."""
        starts = np.maximum(0, self.added - self.oldest - length + 1) * self.rows
        index = rng.integers(0, starts.sum(), shape)
        if length == 1 and self.count == 1:
            return index
        until = np.cumsum(starts)
        ring = np.searchsorted(until, index, side="right")
        step, row = np.divmod(index - (until - starts)[ring], self.rows)
        oldest = self.oldest[ring] if length > 1 else 0  # of single steps, any order will do
        return (ring * self.length + (oldest + step) % self.length) * self.rows + row

    def pieces(self, length: int) -> int:
        """How many places there are at which a piece of so many steps begins."""
        return int(np.maximum(0, self.added - self.oldest - length + 1).sum()) * self.rows

    def ring(self, place: Array) -> Array:
        """The collector that a place belongs to."""
        return place // (self.length * self.rows)

    def ahead(self, place: Array, steps: int | Array = 1) -> Array:
        """The places of the same rows so many steps later."""
        span = self.length * self.rows
        base = place // span * span
        return base + (place - base + steps * self.rows) % span

    def is_newest(self, place: Array) -> Array:
        """Nothing stands behind them yet."""
        return self.serial(place) == self.added[self.ring(place)] - 1

    def serial(self, place: Array) -> Array:
        """Number of the step that stands at a place now, for each place; what was drawn there has gone if it is
        another one."""
        added, slot = self.added[self.ring(place)], place // self.rows % self.length
        return added - 1 - (added % self.length - 1 - slot) % self.length
