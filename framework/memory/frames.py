"""Observations as stacks of frames, of which each frame is stored once.

A successor is the observation of the next step, and a stack of images has all but one of the images before it. So a
ring keeps the numbers of frames, and most of these are those of the step before. What differs (the first observation of
an episode, the last successor, a stack that does not move on by one frame) is stored whole. Bits are compared, so that
a stack is given back unchanged whatever an environment says of its observations.
"""

import numpy as np
import torch

from envs.base import Array
from framework.memory.frame_store import Compressed, FrameStore, Mirrored, Plain

NUMBER = np.dtype(np.int32)
"""Type of the number of a frame."""


class Frames:
    """Frames of one shape, and how many stacks use each of them. Frame 0 is of zeros: what has not been stored."""

    def __init__(
        self,
        depth: int,
        shape: tuple[int, ...],
        dtype: np.dtype,
        stacks: int,
        compress: bool = False,
        mirror: torch.device | None = None,
    ) -> None:
        """depth: number K of frames in a stack, along its first axis, the newest one last. shape, dtype: of a stack.
        stacks: number of stacks that are kept, all of zeros in the beginning. mirror: device that also has the frames,
        of bytes."""
        self.depth, self.shape, self.dtype = depth, shape, dtype
        self._bits = np.dtype(f"u{dtype.itemsize}")  # equal bits, not equal values: -0.0 is no 0.0
        values = int(np.prod(shape)) // depth
        self.frame_bytes = values * dtype.itemsize
        """Size of a frame that is not compressed."""
        room = stacks // 2 + stacks // 32 + 1  # for one frame a step, and some more; more are added when needed
        self._store: FrameStore
        if compress:
            self._store = Compressed(values, self._bits)
        elif mirror is not None:
            self._store = Mirrored(values, self._bits, room, mirror)
        else:
            self._store = Plain(values, self._bits, room)
        self._uses = np.zeros(room, np.int64)
        """Number of times that each frame is part of a stack."""
        self._uses[0] = stacks * depth + 1
        self._free: list[int] = []
        """Frames that no stack uses any more."""
        self._end = 1
        """Number of the first frame that has never been used."""

    @property
    def used(self) -> int:
        """Number of frames that stacks use."""
        return self._end - len(self._free) - 1  # without frame 0

    @property
    def nbytes(self) -> int:
        """Size of all frames, and of what is noted of them."""
        return self._store.nbytes + self._end * self._uses.itemsize

    def stacks(self, numbers: Array) -> Array:
        """Returns the stacks [..., *shape] of the frames with these numbers [..., K]."""
        return self._store.read(numbers).view(self.dtype).reshape(*numbers.shape[:-1], *self.shape)

    def samples(self, numbers: Array) -> Array | torch.Tensor:
        """Returns `stacks` to learn from, on the device that has the frames too, if there is one."""
        if not isinstance(self._store, Mirrored):
            return self.stacks(numbers)
        return self._store.there(numbers).reshape(*numbers.shape[:-1], *self.shape)

    def store(self, obs: Array, after: Array, before: Array) -> tuple[Array, Array]:
        """Stores the observations [T, N, ...] of steps in order of time, and the successors `after` of these. before:
        numbers [N, K] of the successors of the steps before. Returns the numbers [T, N, K] of both."""
        steps, rows = obs.shape[:2]
        stacks = np.stack([self._divided(obs), self._divided(after)], 1).reshape(2 * steps, rows, self.depth, -1)
        fresh, broken = self._fresh(stacks, before)
        # the film of a row: the frames `before`, and then each new one; places of the frames of each stack on it
        newest = self.depth - 1 + fresh.cumsum(0)
        begin = np.maximum.accumulate(np.where(broken, newest - fresh + 1, 0), 0)
        place = np.maximum(newest[..., None] + np.arange(1 - self.depth, 1), begin[..., None])
        film = np.zeros((rows, int(newest.max(initial=0)) + 1), NUMBER)
        film[:, : self.depth] = before
        new, row = np.arange(self.depth) >= self.depth - fresh[..., None], np.arange(rows)[:, None]
        added = self._added(int(fresh.sum()))
        film[np.broadcast_to(row, place.shape)[new], place[new]] = added
        self._store.write(added, stacks[new])
        numbers = film[row, place]
        np.add.at(self._uses, numbers, 1)
        return numbers[0::2], numbers[1::2]

    def release(self, numbers: Array) -> None:
        """Has the stacks of these frames [..., K] forgotten."""
        np.subtract.at(self._uses, numbers, 1)
        self._free += np.unique(numbers[self._uses[numbers] == 0]).tolist()

    def _fresh(self, stacks: Array, before: Array) -> tuple[Array, Array]:
        """Returns how many frames of each stack [2 T, N, K, values], observations and successors in turn, are new
        [2 T, N], and whether it is not a continuation of the stack before it [2 T, N]."""
        obs, after = stacks[0::2], stacks[1::2]
        same = np.concatenate([self._store.read(before)[None] == obs[:1], after[:-1] == obs[1:]]).all((2, 3))
        moved = (obs[:, :, 1:] == after[:, :, :-1]).all((2, 3))
        broken = ~np.stack([same, moved], 1).reshape(stacks.shape[:2])
        fresh = np.zeros(broken.shape, np.int64)
        fresh[1::2] = 1
        if broken.any():
            whole = stacks[broken]
            first = np.logical_and.accumulate((whole == whole[:, :1]).all(2), axis=1).sum(1)
            fresh[broken] = self.depth + 1 - first  # the frame that fills up a stack is stored once
        return fresh, broken

    def _divided(self, stacks: Array) -> Array:
        """Returns the bits of stacks [T, N, *shape] as [T, N, K, values]."""
        bits = np.ascontiguousarray(stacks, self.dtype).view(self._bits)
        return bits.reshape(*stacks.shape[:2], self.depth, -1)

    def _added(self, count: int) -> Array:
        """Returns the numbers of this many frames that no stack uses."""
        left = max(0, len(self._free) - count)
        freed, self._free[left:] = self._free[left:], []
        first, self._end = self._end, self._end + count - len(freed)
        if self._end > len(self._uses):
            self._uses.resize(self._end + self._end // 16, refcheck=False)
        return np.array([*freed, *range(first, self._end)], NUMBER)

    # journal ----------------------------------------------------------------------------------------------

    def named(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Returns the frames of stacks [T, ..., K] in the order in which they appear [M]; the stacks as places among
        these [T, ..., K]; and how many of these the first 1, 2, ... T have."""
        used, first, position = np.unique(numbers, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), NUMBER)
        rank[order] = np.arange(len(order))
        appears = first[order] // numbers[0].size
        until = np.searchsorted(appears, np.arange(len(numbers)), side="right")
        return used[order], rank[position].reshape(numbers.shape), until

    def single(self, numbers: Array) -> Array:
        """Returns copies [M, *frame] of the frames with these numbers [M]."""
        shape = self.shape[0] // self.depth, *self.shape[1:]
        return self._store.read(numbers).view(self.dtype).reshape(len(numbers), *shape)


def joined(frames: Array, places: Array) -> Array:
    """Returns the stacks [..., *shape] of frames [M, *frame], given the places of their frames [..., K] among these."""
    _, first, *shape = frames.shape
    return frames.take(places, axis=0).reshape(*places.shape[:-1], places.shape[-1] * first, *shape)
