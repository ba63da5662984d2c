"""A replay buffer that a program fills and samples itself: a view of the rings that training uses."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from config.tell.language import tr
from framework.data import buffer_file, neighbors
from framework.data.absent_names import METHODS
from framework.data.batch import Batch, converted, listed
from framework.data.episodes import Added, Beyond, Episodes
from framework.data.priorities import Priorities
from framework.data.reader import Reader
from framework.data.settings import Settings, whole
from framework.data.table import Table
from framework.data.transitions import as_rows, complete, keep_newest, ring_numbers, without_next
from framework.data.values import brief
from framework.errors import DataError
from framework.memory.ring import Array, Rings
from framework.seeding import stream

_TRIES = 20
"""Draws of indices with a whole stack of observations before all of them are listed."""


class ReplayBuffer:
    """Stores the newest transitions, in order of time, with whatever keys the first one has.

    Reserved keys: obs, act, rew, terminated, truncated, obs_next, info, policy, and done, which is true where an
    episode ended. Its attributes of these names are the arrays of all places."""

    emptied = 0
    """Number of times that all transitions were forgotten."""
    _of_rows = False
    """True if add() takes a transition for each of several buffers."""

    def __init__(
        self,
        size: int,
        stack_num: int = 1,
        ignore_obs_next: bool = False,
        sample_avail: bool = False,
        save_only_last_obs: bool = False,
        seed: int = 0,
    ) -> None:
        """size: number of transitions. stack_num: observations are returned as the newest stack_num of their episode.
        ignore_obs_next: stores no successor; that of a step is the observation of the next one. sample_avail: samples
        only where the whole stack is in the episode. save_only_last_obs: stores obs[-1] of observations that are
        stacked already. seed: of sampling."""
        self._set_up(
            [whole("size", size)], Settings(stack_num, ignore_obs_next, sample_avail, save_only_last_obs, seed)
        )

    def _set_up(self, lengths: list[int], settings: Settings) -> None:
        """Makes an empty buffer of parts of these sizes."""
        self.settings, self.seed = settings, settings.seed
        self._rng = stream(settings.seed, "memory")
        self._rings = self._rings_of(lengths)
        self._rings.make_room(1)
        self._table = Table(self._rings)
        self._priorities: Priorities | None = None
        self._beyond, self._episodes = Beyond(), Episodes(self._rings.limits()[0])
        self._reader = Reader(self._table, self._beyond, settings.stack_num)

    def _rings_of(self, lengths: list[int]) -> Rings:
        return Rings(sum(lengths), len(lengths))

    @property
    def lengths(self) -> list[int]:
        """Size of each part."""
        return [self._rings.length] * self._rings.count

    @property
    def stack_num(self) -> int:
        """Number of observations that are returned together; may be set at any time, since each is stored once."""
        return self.settings.stack_num

    @stack_num.setter
    def stack_num(self, count: int) -> None:
        self.settings = replace(self.settings, stack_num=count)
        self._reader.stack_num = count

    # adding -----------------------------------------------------------------------------------------------

    def add(self, batch: Any = None, buffer_ids: Any = None, **values: Any) -> Added:
        """Adds a transition: a Batch, a dict or keywords. Returns its index, and what is known of its episode.

        buffer_ids: the values have a row for each of these buffers (a buffer with several takes all by default)."""
        if batch is not None:
            if not isinstance(batch, Batch | Mapping):
                raise DataError(
                    "add: got {value}; expected a Batch or a dict, or keywords such as add(obs=..., act=...)",
                    value=brief(batch),
                )
            values = {**batch, **values}
        if self._of_rows or buffer_ids is not None:
            return self._add_rows(values, buffer_ids)
        if self.settings.save_only_last_obs:
            keep_newest(values, -1)
        after = self._prepare(values, None)
        row = self._table.fitted(values, None)
        place = int(self._rings.append(0, row))
        if after is not None or self._beyond.at:
            self._beyond.remember([place], None if after is None else Batch.stack([after]), [row["truncated"]])
        if self._priorities is not None:
            self._priorities.new(place)
        return self._episodes.add_one(place, row["rew"], bool(row["done"]))

    def _add_rows(self, values: dict[str, Any], buffer_ids: Any) -> Added:
        """Adds a transition to each of several buffers."""
        ring = self._ring_numbers(buffer_ids)
        for key, value in values.items():
            if type(value) is not np.ndarray or value.dtype.kind == "O":
                values[key] = converted(value)
        if self.settings.save_only_last_obs:
            keep_newest(values, (slice(None), -1))
        after = self._prepare(values, len(ring))
        rows = self._table.fitted(values, len(ring))
        place = self._rings.append(ring, rows)
        if after is not None or self._beyond.at:
            self._beyond.remember(place.tolist(), after, rows["truncated"])
        if self._priorities is not None:
            self._priorities.new(place)
        return self._moved(self._episodes.add(ring, place, rows["rew"], rows["done"]), ring, rows["done"])

    def _ring_numbers(self, buffer_ids: Any) -> Array:
        """Returns the rings [K] of the rows that are added."""
        return ring_numbers(buffer_ids, self.buffer_num)

    def _prepare(self, values: dict[str, Any], rows: int | None) -> Batch | None:
        """Makes values what is stored. Returns the observation after it, if it is not but has to be kept."""
        tree = self._table.tree
        complete(values, rows, first=not tree)
        stored = (
            "obs_next" in tree if tree else not self.settings.ignore_obs_next and values.get("obs_next") is not None
        )
        return None if stored else without_next(values)

    def _moved(self, added: Added, ring: Array, ends: Array) -> Added:
        """Returns where the transitions are after their rings have been looked through; here where they were added."""
        return added

    def update(self, other: "ReplayBuffer") -> Array:
        """Adds all transitions of another buffer, in order of time. Returns their indices; the running episodes of
        both are broken off (`done` without a reason)."""
        if not isinstance(other, ReplayBuffer):
            raise DataError(
                "update: got {value}; expected a buffer. Transitions are added with add()", value=brief(other)
            )
        if self._of_rows:
            raise DataError("update adds to a buffer of one part; call it on a ReplayBuffer")
        return self._take_over(other)

    def _take_over(self, other: "ReplayBuffer") -> Array:
        """Adds the transitions of another buffer to the first ring."""
        place = neighbors.in_time(other._rings)[-self.maxsize :]
        if not len(place):
            return place
        values = {key: other._table.read(key, place) for key in other._table.tree if key != "obs_next"}
        broken = values["done"] | np.isin(place, other._rings.limits()[1])
        values["obs_next"] = other._reader.after(place, 1)
        return self._extend(values, len(place), broken)

    def _extend(self, values: dict[str, Any], count: int, done: Array | None = None) -> Array:
        """Adds transitions [count, ...] in order of time to the first ring. done: where episodes end, if that does not
        follow from the flags. Returns their places."""
        after = self._prepare(values, count)
        if done is not None:
            values["done"] = done
        rows = self._table.fitted(values, count)
        self.break_off()
        slots = self._rings.scatter(np.zeros(count, np.int64), rows)
        self._beyond.remember(slots.tolist(), after, rows["truncated"])
        if self._priorities is not None:
            self._priorities.new(slots)
        return slots

    @staticmethod
    def from_data(
        obs: Any, act: Any, rew: Any, terminated: Any, truncated: Any, done: Any = None, obs_next: Any = None
    ) -> "ReplayBuffer":
        """Returns a full buffer of recorded transitions: columns [T, ...] in order of time. done: is not read, since
        it follows from the two flags."""
        arrays = {"obs": obs, "act": act, "rew": rew, "terminated": terminated, "truncated": truncated}
        columns = {name: as_rows(name, value) for name, value in arrays.items()}
        if obs_next is not None:
            columns["obs_next"] = as_rows("obs_next", obs_next)
        counts = {name: len(value) for name, value in columns.items()}
        if len(set(counts.values())) > 1:
            text = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise DataError("from_data: numbers of rows differ: {counts}", counts=text)
        buffer = ReplayBuffer(len(columns["obs"]))
        buffer._extend(columns, buffer.maxsize)
        return buffer

    def break_off(self) -> None:
        """Ends the running episodes, of which no further transition will come: the newest one of each is `done` without
        a reason."""
        if len(self):
            self._rings.flat["done"][self.unfinished_index()] = True
        self._episodes.forget()

    # indices ----------------------------------------------------------------------------------------------

    @property
    def rings(self) -> Rings:
        """Rings that hold the transitions: one for each buffer, with rows of one."""
        return self._rings

    @property
    def passage(self) -> Rings:
        """Rings that every transition comes into once."""
        return self._rings

    @property
    def maxsize(self) -> int:
        """Number of transitions that there is room for."""
        return self._rings.total

    @property
    def buffer_num(self) -> int:
        """Number of buffers that it consists of: environments that it can be filled from in turn."""
        return self._rings.count

    @property
    def last_index(self) -> Array:
        """Place of the newest transition of each buffer; of its first place if it is empty."""
        return self._rings.limits()[1]

    def __len__(self) -> int:
        return self._rings.size

    def prev(self, index: Any) -> Array:
        """Returns the indices of the transitions before; the same ones where an episode begins."""
        return neighbors.previous(self._rings, neighbors.checked(self._rings, index))

    def next(self, index: Any) -> Array:
        """Returns the indices of the transitions after; the same ones where an episode ends, and for the newest."""
        return neighbors.following(self._rings, neighbors.checked(self._rings, index))

    def unfinished_index(self) -> Array:
        """Returns the index of the newest transition of each running episode."""
        return neighbors.unfinished(self._rings)

    def sample_indices(self, batch_size: int | None) -> Array:
        """Returns this many indices, drawn with the same chance each. 0 or None: all of them, in order of time."""
        if not batch_size:
            every = neighbors.in_time(self._rings)
            return every[self._has_stack(every)] if self.settings.sample_avail and len(every) else every
        count = whole("sample", batch_size)
        if not len(self):
            raise DataError("sample({count}): the buffer is empty", count=count)
        indices = self._draw(count)
        return self._with_stack(indices) if self.settings.sample_avail else indices

    def _draw(self, count: int) -> Array:
        if self._priorities is not None:
            return self._priorities.draw(self._rng, count)
        return self._rings.choose(self._rng, (count,))

    def _with_stack(self, indices: Array) -> Array:
        """Draws again in place of those indices whose stack of observations would reach beyond the episode."""
        for _ in range(_TRIES):
            lacking = ~self._has_stack(indices)
            if not lacking.any():
                return indices
            indices[lacking] = self._draw(int(lacking.sum()))
        every = self.sample_indices(0)
        if not len(every):
            raise DataError(
                "no episode in the buffer has {count} observations; sample_avail asks for them", count=self.stack_num
            )
        return self._rng.choice(every, len(indices))

    def _has_stack(self, place: Array) -> Array:
        """Returns true where the whole stack of observations is in the episode."""
        return neighbors.has_before(self._rings, place, self.stack_num - 1)

    def rings_at(self, index: Any) -> tuple[Rings, Array]:
        """Returns the storage, and the places in it that an index means."""
        return self._rings, neighbors.checked(self._rings, index)

    def update_weight(self, index: Any, new_weight: Any) -> None:
        """Sets the priorities of transitions, usually their errors. Does nothing in a buffer without priorities."""
        if self._priorities is not None:
            self._priorities.set(index, new_weight)

    def set_beta(self, beta: float) -> None:
        """Sets the exponent of the weights. Does nothing in a buffer without priorities."""
        if self._priorities is not None:
            self._priorities.set_beta(beta)

    # reading ----------------------------------------------------------------------------------------------

    def sample(self, batch_size: int | None) -> tuple[Batch, Array]:
        """Returns this many transitions, drawn with the same chance each, and their indices. 0 or None: all of them, in
        order of time."""
        indices = self.sample_indices(batch_size)
        return self._at(indices), indices

    def __getitem__(self, index: Any) -> Batch:
        """Returns the transitions with these indices; a slice chooses among all in the order of their indices."""
        return self._at(neighbors.checked(self._rings, index))

    def __iter__(self) -> Iterator[Batch]:
        """Yields all transitions in the order of their indices."""
        return iter(self[:])

    def chronological(self) -> Batch:
        """Returns all transitions in order of time, one buffer after another."""
        return self._at(neighbors.in_time(self._rings))

    def get(self, index: Any, key: str, default: Any = None, stack_num: int | None = None) -> Any:
        """Returns the values of a key, the newest `stack_num` of the episode in each place; or the default."""
        if key not in self._table.tree:
            return default
        count = self.stack_num if stack_num is None else whole("stack_num", stack_num)
        return self._reader.stacked(key, neighbors.checked(self._rings, index), count)

    def _at(self, place: Array) -> Batch:
        """Returns the transitions at these places, with their weights if they have priorities."""
        batch = self._reader.at(place)
        if self._priorities is not None:
            batch["weight"] = self._priorities.weights(np.atleast_1d(place)).reshape(np.shape(place))
        return batch

    @property
    def weight(self) -> Array:
        """Priorities [places], to the power of alpha; 0 where nothing is stored. (`weight` of a sample is for
        importance sampling.) AttributeError in a buffer without priorities."""
        if self._priorities is None:
            raise AttributeError(tr("{kind} has no priorities", kind=type(self).__name__))
        return self._priorities.tree.of(np.arange(self.maxsize))

    def __getattr__(self, key: str) -> Any:
        tree = {} if key.startswith("_") else self._table.tree
        if key in ("info", "policy") and key not in tree:
            return Batch()  # reserved, and shown by print
        if key not in tree:
            empty = tr("they have none before the first one is added")
            keys = tr("they have {keys}", keys=", ".join(tree)) if tree else empty
            raise AttributeError(
                tr(
                    "{kind} has no attribute {key!r}, and its transitions no such key; {remedy}",
                    kind=type(self).__name__,
                    key=key,
                    remedy=METHODS.get(key) or keys,
                )
            )
        return self._table.whole(tree[key])

    # all of it --------------------------------------------------------------------------------------------

    def reset(self, keep_statistics: bool = False) -> None:
        """Forgets all transitions. keep_statistics: running episodes go on, with the return they have so far."""
        self._rings.added[:] = 0
        self.emptied += 1
        self._beyond.at.clear()
        self._episodes.start = self._rings.limits()[0]
        if not keep_statistics:
            self._episodes.forget()
        if self._priorities is not None:
            self._priorities.forget()

    def save(self, path: str | Path) -> None:
        """Writes everything to a file in numpy's format npz."""
        buffer_file.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, allow_pickle: bool = False) -> Self:
        """Returns the buffer in a file that save() wrote. allow_pickle: takes columns of objects too, which are
        pickled: loading a file of a stranger could then run code of theirs."""
        return buffer_file.load(cls, Path(path), allow_pickle)

    def __repr__(self) -> str:
        return listed(type(self).__name__, self._shown()) if self._table.tree else f"{type(self).__name__}()"

    def _shown(self) -> dict[str, Any]:
        """Returns the values of all places by key, for __repr__."""
        columns = {key: getattr(self, key) for key in self._table.tree}
        return columns | {key: Batch() for key in ("info", "policy") if key not in columns}
