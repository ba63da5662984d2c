"""Journal of a replay memory: writes what is new in its rings as frames, and restores the rings from them."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from config.tell.language import tr
from framework.collect.fragment import Columns
from framework.disk import journal as journals
from framework.disk.journal import Frame, Journal, Position, Span
from framework.memory.frames import Frames, joined
from framework.memory.ring import SEEN, Rings
from framework.memory.sum_tree import SumTree

_FRAMES = "frames"
"""Array of the frames of observations, which are then their places in it."""
_BESIDE_STEPS = ("first", "after", "leaf", "priority", _FRAMES)
"""Arrays of a frame besides the columns of its steps."""
_LEAF_BYTES = 16
"""Size of a leaf and its priority in a frame."""
_UNPACKED_BYTES = 4 * 2**20
"""Size of the observations that are put together from their frames at once."""


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
        after = _shared(first, new, max(1, room // max(1, rings.step_bytes)))
        frame, count = rings.between(first, after), int((after - first).sum())
        if rings.frames is not None and count:
            frame = _packed(rings.frames, frame, room)
            count = len(frame["reward"])
            after = _shared(first, new, count)
        size = sum(value.nbytes for value in frame.values())
        frame["first"], frame["after"] = first, after
        if self.tree is not None:
            # a frame is dropped once its steps are overwritten: no leaves of steps that come in later ones
            last = bool((after == rings.added).all())
            most = max(0 if count else 1, (room - size) // _LEAF_BYTES) if last else 0
            frame["leaf"], frame["priority"] = self.tree.changes(most)
        return frame if count or ("leaf" in frame and len(frame["leaf"])) else None

    def restore(self, frames: Iterable[Frame], added: np.ndarray, allocate: Callable[[Columns], None]) -> None:
        """Restores rings and priorities that `added` [rings] steps were added to. allocate: makes room for columns;
        called once the first steps are read. ValueError if the frames do not hold all steps that fit in the rings."""
        whole_from, reached = np.zeros((2, len(added)), np.int64)
        for frame in frames:
            first, after = (frame.arrays[name].copy() for name in ("first", "after"))  # kept without their frame
            self._restore(frame.arrays, allocate)
            whole_from = np.where(first > reached, first, whole_from)
            reached, self._end = after, frame.end
            self._frames.append((frame.start, after))
            del frame  # before the next one is read
        self.rings.added, self._written = added, added.copy()
        oldest = self.rings.oldest
        if (reached != added).any() or (whole_from > oldest).any():
            raise ValueError(
                tr(
                    "its journal holds steps {first} to {last}, of {oldest} to {newest}",
                    first=whole_from,
                    last=reached,
                    oldest=oldest,
                    newest=added,
                )
            )
        if self.tree is not None:
            self.tree.forget_changes(slice(None))

    def _restore(self, arrays: Columns, allocate: Callable[[Columns], None]) -> None:
        """Writes the steps and priorities of one frame."""
        rings, first, after = self.rings, arrays["first"], arrays["after"]
        steps = {name: value for name, value in arrays.items() if name not in _BESIDE_STEPS}
        if _counted(first, after, steps, rings.count):
            begin = 0
            for ring, (number, end) in enumerate(zip(first.tolist(), after.tolist(), strict=True)):
                mine = {name: value[begin : begin + end - number] for name, value in steps.items()}
                begin += end - number
                for columns in _unpacked(mine, arrays.get(_FRAMES), rings.depth):
                    if not rings.flat:
                        allocate(columns)
                    rings.put(ring, number, columns)
                    number += len(columns["reward"])
        if self.tree is not None and arrays["leaf"].size:
            if arrays["leaf"].min() < 0:
                raise ValueError(tr("a frame names a negative leaf"))
            self.tree.set(arrays["leaf"], arrays["priority"])


def _shared(first: np.ndarray, new: np.ndarray, steps: int) -> np.ndarray:
    """Returns the step of each ring behind the first `steps` new ones: all of the first ring, then of the next one."""
    return first + np.clip(steps - (np.cumsum(new) - new), 0, new)


def _packed(frames: Frames, columns: Columns, room: int) -> Columns:
    """Returns as many of these steps as have room, with the frames of their observations, each once."""
    numbers, places, until = frames.named(np.stack([columns[name] for name in SEEN], 1))
    step_bytes = sum(value[:1].nbytes for value in columns.values())
    size = until * frames.frame_bytes + np.arange(1, len(until) + 1) * step_bytes
    steps = max(1, int(np.searchsorted(size, room, side="right")))
    pack = {name: value[:steps] for name, value in columns.items()}
    for number, name in enumerate(SEEN):
        pack[name] = places[:steps, number]
    return {**pack, _FRAMES: frames.single(numbers[: until[steps - 1]])}


def _unpacked(steps: Columns, frames: np.ndarray | None, depth: int) -> Iterator[Columns]:
    """Yields steps [T, N, ...] with whole observations; a few at a time if these are stored as stacks of frames."""
    count = len(steps["reward"])
    if frames is not None:
        if any(steps[name].shape[2:] != (depth,) or steps[name].min(initial=0) < 0 for name in SEEN):
            raise ValueError(tr("its observations are not stacks of {depth} frames", depth=depth))
        row_bytes = depth * frames[:1].nbytes
    else:
        row_bytes = steps["obs"][:1, :1].nbytes
    few = max(1, _UNPACKED_BYTES // max(1, row_bytes * steps["obs"].shape[1])) if depth else max(1, count)
    for start in range(0, count, few):
        piece = {name: value[start : start + few] for name, value in steps.items()}
        if frames is not None:
            piece |= {name: joined(frames, piece[name]) for name in SEEN}
        yield piece


def _counted(first: np.ndarray, after: np.ndarray, steps: Columns, rings: int) -> int:
    """Returns the number of steps in a frame. ValueError if the frame names others than it holds: numbers that a file
    names are compared with its size before anything is allocated for them."""
    held = {len(value) for value in steps.values()} or {0}
    count = after - first
    if first.shape != (rings,) or count.shape != (rings,) or (first < 0).any() or (after < 0).any():
        raise ValueError(tr("a frame names the steps of other rings"))
    if (count < 0).any() or (count > max(held)).any() or held != {int(count.sum())}:
        raise ValueError(
            tr("a frame names steps {first} to {after}, and holds {held}", first=first, after=after, held=sorted(held))
        )
    return int(count.sum())
