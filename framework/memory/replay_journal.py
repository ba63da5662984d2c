"""Journal of a replay memory: writes what is new in its rings as frames, and restores the rings from them."""

from collections.abc import Callable, Iterable

import numpy as np

from framework.checkpoint import journal as journals
from framework.checkpoint.journal import Frame, Journal, Position, Span
from framework.fragment import Columns
from framework.memory.ring import Rings
from framework.memory.sum_tree import SumTree

_BESIDE_STEPS = ("first", "after", "leaf", "priority")
"""Arrays of a frame besides the columns of its steps."""
_LEAF_BYTES = 16
"""Size of a leaf and its priority in a frame."""


class ReplayJournal:
    """Knows which steps and priorities the journal holds, and which of its frames are still needed."""

    def __init__(self, rings: Rings) -> None:
        self.rings = rings
        self.tree: SumTree | None = None
        """Priorities, once the rings are allocated; None for a uniform memory."""
        self._written = np.zeros(rings.count, np.int64)
        """Number of steps of each ring that are in the journal."""
        self._end: Position | None = None
        """End of the journal after the last frame that was written or read here."""
        self._frames: list[tuple[Position, np.ndarray]] = []
        """Start of each frame that is still needed, and the number of steps of each ring after it."""

    def changed(self, ring: int, step: int) -> None:
        """Has this step and all later ones of a ring written again."""
        self._written[ring] = min(self._written[ring], step)

    def write(self, journal: Journal) -> Span:
        """Appends frames of new steps and priorities, each of at most FRAME_BYTES. A journal that does not end where
        the last call left it (that of a branch, or of another number of rings) gets everything."""
        if journal.end != self._end:
            self._written[:] = 0
            self._frames.clear()
            if self.tree is not None:
                self.tree.count_all_as_changed()
        while (arrays := self._next_frame()) is not None:
            start = journal.append(arrays)
            self._written, self._end = arrays["after"].copy(), journal.end
            self._frames.append((start, arrays["after"]))
            if self.tree is not None:
                self.tree.forget_changes(arrays["leaf"])
            del arrays  # before the next one is copied
        while self._frames and (self._frames[0][1] <= self.rings.oldest).all():
            del self._frames[0]
        return Span(self._frames[0][0] if self._frames else journal.end, journal.end)

    def _next_frame(self) -> Columns | None:
        """Returns as many new steps and changed priorities as fit into a frame, or None if nothing is new."""
        rings, room = self.rings, journals.FRAME_BYTES
        first = np.maximum(self._written, rings.oldest)
        new = rings.added - first
        steps = max(1, room // max(1, rings.step_bytes))
        after = first + np.clip(steps - (np.cumsum(new) - new), 0, new)  # all of the first ring, then of the next one
        frame = rings.between(first, after)
        frame["first"], frame["after"] = first, after
        count = int((after - first).sum())
        if self.tree is not None:
            leaves = (room - count * rings.step_bytes) // _LEAF_BYTES
            frame["leaf"], frame["priority"] = self.tree.changes(max(0 if count else 1, leaves))
        return frame if count or ("leaf" in frame and len(frame["leaf"])) else None

    def restore(self, frames: Iterable[Frame], added: np.ndarray, allocate: Callable[[Columns], None]) -> None:
        """Restores rings and priorities that `added` [rings] steps were added to. allocate: makes room for columns;
        called once the first steps are read. ValueError if the frames do not hold all steps that fit in the rings."""
        whole_from, reached = np.zeros((2, len(added)), np.int64)
        for frame in frames:
            first, after = frame.arrays["first"], frame.arrays["after"]
            self._restore(frame.arrays, allocate)
            whole_from = np.where(first > reached, first, whole_from)
            reached, self._end = after, frame.end
            self._frames.append((frame.start, after))
            del frame  # before the next one is read
        self.rings.added, self._written = added, added.copy()
        oldest = self.rings.oldest
        if (reached != added).any() or (whole_from > oldest).any():
            raise ValueError(f"its journal holds steps {whole_from} to {reached}, of {oldest} to {added}")
        if self.tree is not None:
            self.tree.forget_changes(slice(None))

    def _restore(self, arrays: Columns, allocate: Callable[[Columns], None]) -> None:
        """Writes the steps and priorities of one frame."""
        rings, first, after = self.rings, arrays["first"], arrays["after"]
        steps = {name: value for name, value in arrays.items() if name not in _BESIDE_STEPS}
        if _counted(first, after, steps, rings.count):
            if not rings.flat:
                allocate(steps)
            ranges = zip(first.tolist(), after.tolist(), strict=True)
            slots = [rings.slots(ring, np.arange(*numbers)) for ring, numbers in enumerate(ranges)]
            rings.put(np.concatenate(slots), steps)
        if self.tree is not None and arrays["leaf"].size:
            if arrays["leaf"].min() < 0:
                raise ValueError("a frame names a negative leaf")
            self.tree.set(arrays["leaf"], arrays["priority"])


def _counted(first: np.ndarray, after: np.ndarray, steps: Columns, rings: int) -> int:
    """Returns the number of steps in a frame. ValueError if the frame names others than it holds: numbers that a file
    names are compared with its size before anything is allocated for them."""
    held = {len(value) for value in steps.values()} or {0}
    count = after - first
    if first.shape != (rings,) or count.shape != (rings,) or (first < 0).any() or (after < 0).any():
        raise ValueError("a frame names the steps of other rings")
    if (count < 0).any() or (count > max(held)).any() or held != {int(count.sum())}:
        raise ValueError(f"a frame names steps {first} to {after}, and holds {sorted(held)}")
    return int(count.sum())
