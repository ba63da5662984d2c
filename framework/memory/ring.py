"""Storage of a replay memory: one ring [L, N] per collector, in time order per row, all in one array per column."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from algos.base import Array
from config.model.memory_spec import RewardClip
from framework.collect.fragment import Columns
from framework.errors import JoystickError
from framework.memory.frames import NUMBER, Frames

SEEN = ("obs", "next_obs")
"""Columns that can be stacks of frames."""


class Rings:
    """Ring buffers. A place is a number: (ring * L + slot) * N + row. All functions work on whole arrays of places."""

    def __init__(
        self, capacity: int, count: int, depth: int = 0, compress: bool = False, mirror: torch.device | None = None
    ) -> None:
        """depth: number of frames of an observation, each of which is stored once; 0: observations are columns like all
        others. compress: compresses these frames. mirror: device that learns, and has the frames too."""
        self.capacity, self.count, self.depth, self.compress, self.mirror = capacity, count, depth, compress, mirror
        self.frames: Frames | None = None
        """Frames of the observations. The columns obs and next_obs are their numbers [places, depth]."""
        self.added = np.zeros(count, np.int64)
        """Number of steps that each collector has added so far. Its next slot is this modulo L."""
        self.flat: Columns = {}
        """name -> [places, ...]"""
        self.length = self.rows = 0
        self.steps: Columns = {}
        """The same arrays, viewed as [rings * L, N, ...]."""

    def allocate(self, columns: Columns) -> None:
        """Allocates the rings for columns [T, N, ...] of this shape and type."""
        self.make_room(columns["reward"].shape[1])
        try:
            for name, value in columns.items():
                numbered = self.depth and name in SEEN
                self.add_column(name, *(((self.depth,), NUMBER) if numbered else (value.shape[2:], value.dtype)))
            if self.depth:
                obs = columns["obs"]
                stacks = len(SEEN) * self.total
                self.frames = Frames(self.depth, obs.shape[2:], obs.dtype, stacks, self.compress, self.mirror)
        except MemoryError as error:
            self.drop_columns()
            raise self._too_large() from error

    def _too_large(self) -> JoystickError:
        return JoystickError(
            "a memory of {count} transitions is more than this machine has; choose a smaller algo_cfg.buffer_size",
            count=self.capacity,
        )

    def make_room(self, rows: int) -> None:
        """Decides the length of the rings: each holds steps of this many rows."""
        self.rows = rows
        self.length = max(1, self.capacity // (rows * self.count))

    def add_column(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        """Adds a column of zeros, or of None among objects, for values of this shape. Replaces one of this name."""
        self.flat[name] = (
            np.full((self.total, *shape), None) if dtype.kind == "O" else np.zeros((self.total, *shape), dtype)
        )
        self.steps[name] = self.flat[name].reshape(self.total // self.rows, self.rows, *shape)

    def lengthen(self, length: int) -> None:
        """Makes the only ring longer, one that has not gone around yet."""
        old, self.length, self.capacity = self.flat, length, length * self.rows
        for name, column in old.items():
            self.add_column(name, column.shape[1:], column.dtype)
            self.flat[name][: len(column)] = column

    def drop_columns(self) -> None:
        """Gives all columns back."""
        self.flat, self.steps, self.frames = {}, {}, None

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "steps"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)  # copies and pickles keep one array per column, seen in two shapes
        self.steps = {name: whole.reshape(-1, self.rows, *whole.shape[1:]) for name, whole in self.flat.items()}

    @property
    def total(self) -> int:
        """Number of places."""
        return self.count * self.length * self.rows

    @property
    def step_bytes(self) -> int:
        """Size of one step of all rows of a collector; with frames the least that it can be: a new one in each row."""
        fresh = 0 if self.frames is None else self.rows * self.frames.frame_bytes
        return sum(whole[:1].nbytes for whole in self.steps.values()) + fresh

    def of_ring(self, name: str, ring: int) -> Array:
        """Returns a column of one ring [L, N, ...], as a view."""
        return self.steps[name][ring * self.length : (ring + 1) * self.length]

    def write(self, ring: int, columns: Columns) -> None:
        """Adds steps [T, N, ...] of a collector."""
        first = int(self.added[ring])
        self.added[ring] += len(columns["reward"])
        self.put(ring, first, columns)

    def put(self, ring: int, first: int, columns: Columns) -> None:
        """Writes the steps first, first + 1, ... [T, N, ...] of a ring; the last ones if they are more than it has."""
        if late := max(0, len(columns["reward"]) - self.length):
            first, columns = first + late, {name: value[late:] for name, value in columns.items()}
        at, steps = int(self.slots(ring, first)), len(columns["reward"])
        slots = slice(at, at + 1) if steps == 1 else self.slots(ring, np.arange(first, first + steps))
        if self.frames is not None:
            columns = self._numbered(self.frames, slots, int(self.slots(ring, first - 1)), columns)
        for name, whole in self.steps.items():
            whole[slots] = columns[name]

    def _numbered(self, frames: Frames, slots: Array | slice, before: int, columns: Columns) -> Columns:
        """Returns columns for these slots with the numbers of frames, which are stored, as observations. Those that
        have been in the slots are released. before: slot of the step before them."""
        try:
            numbers = frames.store(columns["obs"], columns["next_obs"], self.steps["next_obs"][before])
        except MemoryError as error:
            raise self._too_large() from error
        for name in SEEN:
            frames.release(self.steps[name][slots])
        return {**columns, **dict(zip(SEEN, numbers, strict=True))}

    def given(self, name: str, values: Array) -> Array:
        """Returns values of a column as they were given: stacks of frames instead of their numbers."""
        return self.frames.stacks(values) if self.frames is not None and name in SEEN else values

    def take(self, name: str, places: Array) -> Any:
        """Returns copies of a column at these places, to learn from: observations as tensors where the device that
        learns has their frames."""
        values = self.flat[name].take(places, axis=0)
        return self.frames.samples(values) if self.frames is not None and name in SEEN else values

    def scatter(self, ring: Array, columns: Columns) -> Array:
        """Adds steps [K, ...] of rings with one row each, in time order for each ring. Returns their places [K]."""
        number, counts = in_order(ring, self.count)
        places = self.slots(ring, self.added[ring] + number)
        self.added += counts
        for name, whole in self.flat.items():
            whole[places] = columns[name]
        return places

    def append(self, ring: Array | int, columns: Columns) -> Array:
        """Adds a step to a ring with one row, or to each of several different ones [K]. Returns its places."""
        places: Array = self.slots(ring, self.added[ring])[()]
        for name, whole in self.flat.items():
            whole[places] = columns[name]
        self.added[ring] += 1
        return places

    def between(self, first: Array, after: Array) -> Columns:
        """Returns copies [T, N, ...] of the steps first[i] .. after[i] - 1 of each ring i, one ring after another, with
        observations as numbers of frames if there are frames."""
        ranges = zip(first.tolist(), after.tolist(), strict=True)
        slots = np.concatenate([self.slots(ring, np.arange(*steps)) for ring, steps in enumerate(ranges)])
        return {name: whole[slots] for name, whole in self.steps.items()}

    def history(self, ring: int, most_bytes: int, parts: int) -> Iterator[tuple[int, Columns]]:
        """Yields everything that a ring holds, in time order: number of the part, of so many equal ones, and copies
        [T, N, ...] of at most this many bytes. The last step of a part ends its trajectory."""
        ends = np.linspace(self.oldest[ring], self.added[ring], parts + 1).astype(int).tolist()
        stacks = 0 if self.frames is None else len(SEEN) * self.rows * self.depth * self.frames.frame_bytes
        piece = max(1, most_bytes // (self.step_bytes + stacks))
        for part, (first, after) in enumerate(pairwise(ends)):
            for start in range(first, after, piece):
                slots = self.slots(ring, np.arange(start, min(start + piece, after)))
                columns = {name: self.given(name, whole[slots]) for name, whole in self.steps.items()}
                columns["end"][-1] |= start + piece >= after
                yield part, columns

    # places -----------------------------------------------------------------------------------------------

    def slots(self, ring: Array | int, step: Array | int) -> Array:
        """Returns the slots in [rings * L] of the steps with these numbers."""
        return np.asarray(ring * self.length + step % self.length)

    def places(self, ring: int, steps: Array) -> Array:
        """Returns the places [T, N] of all rows of the steps with these numbers [T]."""
        return self.slots(ring, steps)[:, None] * self.rows + np.arange(self.rows)

    @property
    def oldest(self) -> Array:
        """Number of the oldest step in each ring [rings]."""
        return np.maximum(0, self.added - self.length)

    def limits(self) -> tuple[Array, Array]:
        """Returns the places of the oldest and of the newest step of each ring with one row. An empty ring has its
        first place for both."""
        rings = np.arange(self.count)
        return self.slots(rings, self.oldest), self.slots(rings, np.maximum(0, self.added - 1))

    @property
    def size(self) -> int:
        """Number of stored transitions."""
        if self.count == 1:
            return min(int(self.added[0]), self.length) * self.rows
        return int((self.added - self.oldest).sum()) * self.rows

    def choose(self, rng: np.random.Generator, shape: tuple[int, ...], length: int = 1) -> Array:
        """Returns places where pieces of `length` steps begin, drawn uniformly from all stored ones."""
        if length == 1 and self.count == 1:
            return rng.integers(0, self.size, shape)
        starts = np.maximum(0, self.added - self.oldest - length + 1) * self.rows
        index = rng.integers(0, starts.sum(), shape)
        until = np.cumsum(starts)
        ring = np.searchsorted(until, index, side="right")
        step, row = np.divmod(index - (until - starts)[ring], self.rows)
        oldest = self.oldest[ring] if length > 1 else 0  # for single steps, the order does not matter
        return self.slots(ring, oldest + step) * self.rows + row

    def pieces(self, length: int) -> int:
        """Returns the number of places where a piece of this many steps begins."""
        if length == 1:
            return self.size
        return int(np.maximum(0, self.added - self.oldest - length + 1).sum()) * self.rows

    def ring(self, place: Array) -> Array:
        """Returns the collector of each place."""
        return place // (self.length * self.rows)

    def ahead(self, place: Array, steps: int | Array = 1) -> Array:
        """Returns the places of the same rows this many steps later."""
        span = self.length * self.rows
        base = place // span * span
        return base + (place - base + steps * self.rows) % span

    def is_newest(self, place: Array) -> Array:
        """Returns true for places of the newest step of their ring."""
        return self.serial(place) == self.added[self.ring(place)] - 1

    def serial(self, place: Array) -> Array:
        """Returns the number of the step that is at each place now. A sample whose number was another one has been
        overwritten."""
        if self.count == 1:
            newest = int(self.added[0]) - 1
            return newest - (newest - place // self.rows) % self.length
        added, slot = self.added[self.ring(place)], place // self.rows % self.length
        return added - 1 - (added % self.length - 1 - slot) % self.length


def in_order(of: Array, count: int) -> tuple[Array, Array]:
    """Returns the position [K] of each item among those with the same number [K], and how many items [count] each
    number has."""
    counts = np.bincount(of, minlength=count)
    position = np.empty(len(of), np.int64)
    position[np.argsort(of, kind="stable")] = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return position, counts


def clipped(reward: Array, kind: RewardClip) -> Array:
    """Returns each reward as it is learned from: as it is, its sign (-1, 0 or 1), or its value limited to -1..1. The
    collector, scores and trajectories keep the unchanged ones."""
    match kind:
        case "sign":
            return np.sign(reward)
        case "clip":
            return np.clip(reward, -1.0, 1.0)
    return reward
