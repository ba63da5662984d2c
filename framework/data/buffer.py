"""A replay buffer that a program fills and samples itself: a view of the rings that training uses."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from framework.data import places
from framework.data.batch import Batch, converted
from framework.data.table import Table
from framework.errors import DataError
from framework.memory.ring import Array, Rings
from framework.seeding import stream

_TRIES = 20
"""Draws of indices with a whole stack of observations before all of them are listed."""


class Added(NamedTuple):
    """What `add` returns: numbers for one transition, arrays [K] for one of each of K buffers."""

    index: Any
    """Place of the transition."""
    ep_return: Any
    """Sum of the rewards of the episode that ended with it; 0 if none did."""
    ep_len: Any
    """Number of transitions of the episode that ended with it; 0 if none did."""
    ep_start: Any
    """Place of the first transition of its episode."""


class ReplayBuffer:
    """Stores the newest transitions, in order of time, with whatever keys the first one has.

    Reserved keys: obs, act, rew, terminated, truncated, obs_next, info, policy, and done, which is true where an
    episode ended. Its attributes of these names are the arrays of all places."""

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
        """size: number of transitions. stack_num: observations are returned as the newest so many of their episode.
        ignore_obs_next: stores no successor; that of a step is the observation of the next one. sample_avail: samples
        only where the whole stack is in the episode. save_only_last_obs: stores obs[-1] of observations that are
        stacked already. seed: of sampling."""
        if size < 1 or stack_num < 1:
            raise DataError(f"a buffer takes size and stack_num of at least 1; got {size} and {stack_num}")
        self.stack_num, self.ignore_obs_next = stack_num, ignore_obs_next
        self.sample_avail, self.save_only_last_obs = sample_avail, save_only_last_obs
        self.seed = seed
        self._rng = stream(seed, "memory")
        self._use(Rings(size, 1))

    def _use(self, rings: Rings) -> None:
        """Makes these rings the storage."""
        rings.make_room(1)
        self._rings, self._table = rings, Table(rings)
        self._beyond: dict[int, Batch] = {}
        """Place -> observation after it, of truncated steps, where successors are not stored."""
        self._ep_return = np.zeros(rings.count)
        """Sum of the rewards of each ring's running episode so far; [rings, ...] for rewards that are vectors."""
        self._ep_len = np.zeros(rings.count, np.int64)
        self._ep_start = rings.limits()[0]

    # adding -----------------------------------------------------------------------------------------------

    def add(self, batch: Any = None, buffer_ids: Any = None, **values: Any) -> Added:
        """Adds a transition: a Batch, a dict or keywords. Returns its index, and what is known of its episode.

        buffer_ids: the values have a row for each of these buffers (a buffer with several takes all by default)."""
        if batch is not None:
            values = {**batch, **values}
        if self._of_rows or buffer_ids is not None:
            return self._add_rows(values, buffer_ids)
        if self.save_only_last_obs:
            _keep_last(values, -1)
        beyond = self._prepare(values, None)
        kept = self._table.fitted(values, None)
        place = int(self._rings.append(0, kept))
        if beyond is not None or self._beyond:
            self._remember([place], None if beyond is None else Batch.stack([beyond]), [kept["truncated"]])
        length = int(self._ep_len[0]) + 1
        if length == 1:
            self._begin_returns()
            self._ep_start[0] = place
        total, ended = self._ep_return[0] + kept["rew"], kept["done"]
        self._ep_len[0], self._ep_return[0] = (0, 0.0) if ended else (length, total)
        self._written(place)
        return Added(place, total if ended else total * 0, length if ended else 0, int(self._ep_start[0]))

    def _add_rows(self, values: dict[str, Any], buffer_ids: Any) -> Added:
        """Adds a transition to each of several buffers."""
        ring = self._ring_numbers(buffer_ids)
        for key, value in values.items():
            if type(value) is not np.ndarray:
                values[key] = converted(value)
        if self.save_only_last_obs:
            _keep_last(values, (slice(None), -1))
        beyond = self._prepare(values, len(ring))
        kept = self._table.fitted(values, len(ring))
        place = self._rings.append(ring, kept)
        if beyond is not None or self._beyond:
            self._remember(place.tolist(), beyond, kept["truncated"])
        self._begin_returns()
        length, total, ended = self._ep_len[ring] + 1, self._ep_return[ring] + kept["rew"], kept["done"]
        start = np.where(length == 1, place, self._ep_start[ring])
        going = ~ended
        of_rewards = going.reshape(-1, *[1] * (total.ndim - 1))
        self._ep_len[ring], self._ep_return[ring], self._ep_start[ring] = length * going, total * of_rewards, start
        self._written(place)
        return self._moved(Added(place, total * ~of_rewards, length * ended, start), ring, ended)

    def _ring_numbers(self, buffer_ids: Any) -> Array:
        """Returns the rings [K] of the rows that are added."""
        count = self.buffer_num
        if buffer_ids is None:
            return np.arange(count)
        ring = np.asarray(buffer_ids, np.int64).reshape(-1)
        if len(set(ring.tolist())) < len(ring) or (len(ring) and (ring.min() < 0 or ring.max() >= count)):
            raise DataError(f"buffer_ids: got {ring.tolist()}; expected different numbers from 0 to {count - 1}")
        return ring

    def _prepare(self, values: dict[str, Any], rows: int | None) -> Batch | None:
        """Completes the flags. Returns the observation after it, which it takes out of the values if it is not to be
        stored."""
        terminated, truncated = values.get("terminated", values.get("done")), values.get("truncated", False)
        if terminated is None:
            raise DataError("a transition needs terminated (or done), beside obs, act and rew")
        if rows is None:
            values["terminated"], values["truncated"] = terminated, truncated = bool(terminated), bool(truncated)
        else:
            terminated, truncated = np.asarray(terminated, bool), np.broadcast_to(np.asarray(truncated, bool), rows)
            values["terminated"], values["truncated"] = terminated, truncated
        values["done"] = terminated | truncated
        tree = self._table.tree
        if tree:
            if "obs_next" in tree:
                return None
        else:
            if lacking := [key for key in ("obs", "act", "rew") if values.get(key) is None]:
                raise DataError(f"a transition needs {', '.join(lacking)}, beside the keys {', '.join(values)}")
            if not self.ignore_obs_next and values.get("obs_next") is not None:
                return None
        after = values.pop("obs_next", None)
        return None if after is None or not np.any(truncated) else Batch(obs=after)

    def _remember(self, at: list[int], beyond: Batch | None, truncated: Any) -> None:
        """Keeps the observations [K, ...] after truncated steps, and forgets those of steps that are overwritten."""
        for row, place in enumerate(at):
            self._beyond.pop(place, None)
            if beyond is not None and truncated[row]:
                self._beyond[place] = beyond[row].copy()

    def _begin_returns(self) -> None:
        """Makes room for the returns of rewards that are vectors."""
        shape = self._rings.flat["rew"].shape[1:]
        if self._ep_return.shape[1:] != shape:
            self._ep_return = np.zeros((self._rings.count, *shape))

    def _written(self, place: Any) -> None:
        """Does what has to be done for new transitions; here nothing."""

    def _moved(self, added: Added, ring: Array, ended: Array) -> Added:
        """Returns where the transitions are after their rings have been looked through; here where they were added."""
        return added

    def update(self, other: "ReplayBuffer") -> Array:
        """Adds all transitions of another buffer, in order of time. Returns their indices; the running episodes of
        both are broken off (`done` without a reason)."""
        if self._of_rows:
            raise DataError("update adds to a buffer of one part; call it on a ReplayBuffer")
        place = places.in_time(other._rings)[-self.maxsize :]
        if not len(place):
            return place
        values = {key: other._table.read(key, place) for key in other._table.tree if key != "obs_next"}
        broken = values["done"] | np.isin(place, other._rings.limits()[1])
        values["obs_next"] = other._successors(place, 1)
        beyond = self._prepare(values, len(place))
        values["done"] = broken
        kept = self._table.fitted(values, len(place))
        if self._ep_len[0]:
            self._rings.flat["done"][self.last_index] = True
        found = self._rings.scatter(np.zeros(len(place), np.int64), kept)
        self._remember(found.tolist(), beyond, kept["truncated"])
        self._begin_returns()
        self._ep_len[:], self._ep_return[:] = 0, 0
        self._written(found)
        return found

    def break_off(self) -> None:
        """Ends the running episodes, of which no further transition will come: the newest one of each is `done` without
        a reason."""
        if len(self):
            self._rings.flat["done"][self.unfinished_index()] = True
        self._ep_len[:], self._ep_return[:] = 0, 0

    # indices ----------------------------------------------------------------------------------------------

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
        return places.previous(self._rings, places.checked(self._rings, index))

    def next(self, index: Any) -> Array:
        """Returns the indices of the transitions after; the same ones where an episode ends, and for the newest."""
        return places.following(self._rings, places.checked(self._rings, index))

    def unfinished_index(self) -> Array:
        """Returns the index of the newest transition of each running episode."""
        return places.unfinished(self._rings)

    def sample_indices(self, batch_size: int | None) -> Array:
        """Returns so many indices, drawn with the same chance each. 0 or None: all of them, in order of time."""
        if not batch_size:
            every = places.in_time(self._rings)
            return every[self._has_stack(every)] if self.sample_avail and len(every) else every
        if batch_size < 0 or not len(self):
            raise DataError(f"sample({batch_size}): " + ("the buffer is empty" if batch_size > 0 else "at least 0"))
        found = self._draw(batch_size)
        return self._with_stack(found) if self.sample_avail else found

    def _draw(self, count: int) -> Array:
        return self._rings.choose(self._rng, (count,))

    def _with_stack(self, found: Array) -> Array:
        """Draws again in place of those indices whose stack of observations would reach beyond the episode."""
        for _ in range(_TRIES):
            lacking = ~self._has_stack(found)
            if not lacking.any():
                return found
            found[lacking] = self._draw(int(lacking.sum()))
        every = self.sample_indices(0)
        if not len(every):
            raise DataError(f"no episode in the buffer has {self.stack_num} observations; sample_avail asks for them")
        return self._rng.choice(every, len(found))

    def _has_stack(self, place: Array) -> Array:
        """Returns true where the whole stack of observations is in the episode."""
        for _ in range(self.stack_num - 2):
            place = places.previous(self._rings, place)
        return (places.previous(self._rings, place) != place) | (self.stack_num == 1)

    # reading ----------------------------------------------------------------------------------------------

    def sample(self, batch_size: int | None) -> tuple[Batch, Array]:
        """Returns so many transitions, drawn with the same chance each, and their indices. 0 or None: all of them, in
        order of time."""
        indices = self.sample_indices(batch_size)
        return self._at(indices), indices

    def __getitem__(self, index: Any) -> Batch:
        """Returns the transitions with these indices; a slice chooses among all in the order of their indices."""
        return self._at(places.checked(self._rings, index))

    def __iter__(self) -> Iterator[Batch]:
        """Yields all transitions in the order of their indices."""
        return iter(self[:])

    def chronological(self) -> Batch:
        """Returns all transitions in order of time, one buffer after another."""
        return self._at(places.in_time(self._rings))

    def get(self, index: Any, key: str, default: Any = None, stack_num: int | None = None) -> Any:
        """Returns the values of a key, the newest `stack_num` of the episode in each place; or the default."""
        if key not in self._table.tree:
            return default
        return self._stacked(key, places.checked(self._rings, index), stack_num or self.stack_num)

    def _at(self, place: Array) -> Batch:
        """Returns the transitions at these places."""
        if not place.ndim:
            return self._at(place[None])[0]
        table, data = self._table, {}
        for key in table.tree:
            data[key] = table.read(key, place) if key != "obs" else self._stacked("obs", place, self.stack_num)
        if data:
            data["obs_next"] = self._successors(place, self.stack_num)
        for key in ("info", "policy"):
            if key not in data:
                data[key] = Batch()
        return Batch.of(data)

    def _stacked(self, key: str, place: Array, count: int) -> Any:
        """Returns the values [..., count, ...] of a key at the places and before them in the episode."""
        if count == 1:
            return self._table.read(key, place)
        chain = [place]
        for _ in range(count - 1):
            chain.append(places.previous(self._rings, chain[-1]))
        return self._table.read(key, np.stack(chain[::-1], axis=place.ndim))

    def _successors(self, place: Array, count: int) -> Any:
        """Returns the observations after these places [K]. Where none are stored it is that of the next step; that of
        the step itself where an episode terminated or goes on outside of the buffer."""
        if "obs_next" in self._table.tree:
            return self._stacked("obs_next", place, count)
        found = self._stacked("obs", places.following(self._rings, place), count)
        if self._beyond:
            for row, one in enumerate(place.tolist()):
                if one in self._beyond:
                    _replace_newest(found, self._beyond[one].obs, row, count)
        return found

    def __getattr__(self, key: str) -> Any:
        tree = {} if key.startswith("_") else self._table.tree
        if key not in tree:
            raise AttributeError(f"{type(self).__name__} has no attribute {key!r}, and its transitions no such key")
        return self._table.whole(tree[key])

    # all of it --------------------------------------------------------------------------------------------

    def reset(self, keep_statistics: bool = False) -> None:
        """Forgets all transitions. keep_statistics: running episodes go on, with the return they have so far."""
        self._rings.added[:] = 0
        self._beyond.clear()
        self._ep_start = self._rings.limits()[0]
        if not keep_statistics:
            self._ep_len[:], self._ep_return[:] = 0, 0

    def __repr__(self) -> str:
        lines = [f"    {name}: {whole.dtype} {list(whole.shape[1:])}," for name, whole in self._rings.flat.items()]
        head = f"{type(self).__name__}({len(self)} of {self.maxsize} transitions"
        return "\n".join([head + ":", *lines, ")"]) if lines else head + ")"


def _keep_last(values: dict[str, Any], last: Any) -> None:
    """Replaces stacked observations by their newest ones."""
    for key in ("obs", "obs_next"):
        if values.get(key) is not None:
            values[key] = Batch(obs=values[key])[last].obs


def _replace_newest(found: Any, beyond: Any, row: int, count: int) -> None:
    """Makes this the newest observation of a row. A stack of several moves on by one."""
    if isinstance(found, Batch):
        for key, part in found.items():
            _replace_newest(part, beyond[key], row, count)
    elif count == 1:
        found[row] = beyond
    else:
        found[row, :-1] = found[row, 1:].copy()
        found[row, -1] = beyond
