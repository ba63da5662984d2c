"""Buffers that are filled from several environments in turn: a ring for each of them."""

from dataclasses import asdict
from math import ceil
from typing import Any

import numpy as np

from framework.data.buffer import ReplayBuffer
from framework.data.episodes import Added
from framework.data.settings import Settings, whole
from framework.errors import DataError
from framework.memory.ring import Array, Rings


def parts(total_size: int, buffer_num: int) -> list[int]:
    """Returns the sizes of equal parts for this many environments; total_size is rounded up."""
    count = whole("buffer_num", buffer_num)
    return [ceil(whole("total_size", total_size) / count)] * count


class VectorReplayBuffer(ReplayBuffer):
    """A buffer of equal parts, one for each environment. An index counts through all of them: part k of size L has the
    places k L to k L + L - 1."""

    _of_rows = True

    def __init__(self, total_size: int, buffer_num: int, **settings: Any) -> None:
        """total_size: number of transitions in all parts, which is rounded up. settings: of ReplayBuffer."""
        self._set_up(parts(total_size, buffer_num), Settings.of(self, settings))


class UnevenRings(Rings):
    """Rings of different lengths, with one row each."""

    def __init__(self, lengths: list[int]) -> None:
        super().__init__(sum(lengths), len(lengths))
        self.lengths = np.array(lengths)
        self.starts = np.cumsum(self.lengths) - self.lengths

    @property
    def total(self) -> int:
        return int(self.lengths.sum())

    @property
    def oldest(self) -> Array:
        return np.maximum(0, self.added - self.lengths)

    def slots(self, ring: Array | int, step: Array | int) -> Array:
        return np.asarray(self.starts[ring] + step % self.lengths[ring])

    def ring(self, place: Array) -> Array:
        return np.searchsorted(self.starts, place, side="right") - 1

    def ahead(self, place: Array, steps: int | Array = 1) -> Array:
        ring = self.ring(place)
        return self.slots(ring, place - self.starts[ring] + steps)

    def serial(self, place: Array) -> Array:
        ring = self.ring(place)
        added, slot, length = self.added[ring], place - self.starts[ring], self.lengths[ring]
        return added - 1 - (added % length - 1 - slot) % length


class CachedReplayBuffer(ReplayBuffer):
    """A buffer with a cache for each of n environments: an episode moves from its cache to the main part when it ends,
    so that the main part holds whole episodes. The caches have the places after the places of the main part. The main
    buffer sees the main part: it has no columns of its own."""

    _of_rows = True

    def __init__(self, main: ReplayBuffer, cached_buffer_num: int, max_episode_length: int) -> None:
        """main: its size, settings and transitions become the main part's. max_episode_length: size of a
        cache; of a longer episode the first steps are lost."""
        if type(main) is not ReplayBuffer:
            raise DataError("main: got {kind}; expected a ReplayBuffer", kind=type(main).__name__)
        caches = [whole("max_episode_length", max_episode_length)] * whole("cached_buffer_num", cached_buffer_num)
        self._set_up([main.maxsize, *caches], main.settings)
        self._take_over(main)
        self._main = main
        self._show()

    _rings: UnevenRings

    def _set_up(self, lengths: list[int], settings: Settings) -> None:
        super()._set_up(lengths, settings)
        self._main = ReplayBuffer(lengths[0], **asdict(settings))

    @property
    def main(self) -> ReplayBuffer:
        """The main part as a buffer: whole episodes."""
        self._show()
        return self._main

    @property
    def passage(self) -> Rings:
        """Rings that every transition comes into once: the main part, when its episode has ended."""
        return self.main.rings

    def _show(self) -> None:
        """Makes the main buffer a view of the main part."""
        main, rings, size = self._main, self._rings, int(self._rings.lengths[0])
        main._rings.added = rings.added[:1]
        main._rings.flat = {name: whole[:size] for name, whole in rings.flat.items()}
        main._rings.steps = {name: whole.reshape(size, 1, *whole.shape[1:]) for name, whole in main._rings.flat.items()}
        main._table.share(self._table)
        main._beyond = main._reader.beyond = self._beyond

    def _rings_of(self, lengths: list[int]) -> Rings:
        return UnevenRings(lengths)

    @property
    def lengths(self) -> list[int]:
        """Size of each part."""
        return [int(length) for length in self._rings.lengths]

    @property
    def buffer_num(self) -> int:
        """Number of environments that it can be filled from in turn."""
        return self._rings.count - 1

    def _add_rows(self, values: dict[str, Any], buffer_ids: Any) -> Added:
        try:
            return super()._add_rows(values, buffer_ids)
        finally:
            shown, columns = self._main._rings.flat, self._rings.flat
            if len(shown) != len(columns) or any(shown[name].base is not whole for name, whole in columns.items()):
                self._show()  # a column is new, or one of larger numbers

    def _ring_numbers(self, buffer_ids: Any) -> Array:
        return super()._ring_numbers(buffer_ids) + 1

    def _moved(self, added: Added, ring: Array, ends: Array) -> Added:
        """Moves the episodes that ended to the main part. Returns their places there."""
        index, start = added.index.copy(), added.ep_start.copy()
        for row in np.flatnonzero(ends).tolist():
            moved = self._move(int(ring[row]))
            start[row], index[row] = moved[0], moved[-1]
        return added._replace(index=index, ep_start=start)

    def _move(self, ring: int) -> Array:
        """Moves all transitions of a cache to the main part. Returns their places."""
        rings = self._rings
        cached = rings.slots(ring, np.arange(rings.oldest[ring], rings.added[ring]))[-int(rings.lengths[0]) :]
        places = rings.scatter(
            np.zeros(len(cached), np.int64), {name: whole[cached] for name, whole in rings.flat.items()}
        )
        for old, new in zip(cached.tolist(), places.tolist(), strict=True):
            self._beyond.at.pop(new, None)
            if old in self._beyond.at:
                self._beyond.at[new] = self._beyond.at.pop(old)
        rings.added[ring] = 0
        return places
