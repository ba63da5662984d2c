"""Places in rings with one row each and a column `done`: the steps before and after, and all in order of time."""

from typing import Any

import numpy as np

from config.tell.language import tr
from framework.memory.ring import Array, Rings


def previous(rings: Rings, place: Array) -> Array:
    """Returns the places of the steps before; of the same ones where an episode or the stored part of it begins."""
    if not place.size:
        return place
    before = rings.ahead(place, -1)
    return np.where(rings.flat["done"][before] | (place == _of(rings, place, 0)), place, before)


def has_before(rings: Rings, place: Array, steps: int) -> Array:
    """Returns true where an episode has at least this many steps before a place."""
    for _ in range(steps - 1):
        place = previous(rings, place)
    return (previous(rings, place) != place) | (steps == 0)


def following(rings: Rings, place: Array) -> Array:
    """Returns the places of the steps after; of the same ones where an episode ends, and for the newest step."""
    if not place.size:
        return place
    return np.where(rings.flat["done"][place] | (place == _of(rings, place, 1)), place, rings.ahead(place))


def _of(rings: Rings, place: Array, end: int) -> Any:
    """Returns the place of the oldest (0) or newest (1) step in the ring of each place."""
    limit = rings.limits()[end]
    return limit[0] if rings.count == 1 else limit[rings.ring(place)]


def in_time(rings: Rings) -> Array:
    """Returns the places of all steps: the first ring's in order of time, then the next one's."""
    parts = [
        rings.slots(ring, np.arange(*span)) for ring, span in enumerate(zip(rings.oldest, rings.added, strict=True))
    ]
    return np.concatenate(parts)


def unfinished(rings: Rings) -> Array:
    """Returns the places of the newest steps of running episodes."""
    newest = rings.limits()[1][rings.added > 0]
    return newest[~rings.flat["done"][newest]] if len(newest) else newest


def checked(rings: Rings, index: Any) -> Array:
    """Returns an index of a user as places. IndexError where nothing is stored."""
    if isinstance(index, slice):
        return np.sort(in_time(rings))[index]
    place = np.asarray(index)
    if place.dtype == bool:
        return np.sort(in_time(rings))[place]
    if place.size == 0:
        return place.astype(np.int64)
    if place.dtype.kind not in "iu":
        raise IndexError(
            tr("an index of a buffer is a number, a slice or an array of numbers; got {index!r}", index=index)
        )
    if place.min() < 0:
        place = np.where(place < 0, place + rings.total, place)
    if place.min() < 0 or place.max() >= rings.total or (rings.serial(place) < 0).any():
        raise IndexError(
            tr(
                "index {index!r}: nothing is stored there; the buffer holds {count} of {capacity}",
                index=index,
                count=rings.size,
                capacity=rings.total,
            )
        )
    return place
