"""A ring of transitions [L, N] in time order per row, from which minibatches are drawn."""

import numpy as np

from algos.base import Tree, restore_stream, stream_state
from config.schema import ReplaySpec
from envs.base import Goal
from framework.errors import JoystickError
from framework.fragment import Columns, Fragment
from framework.memory.chunk import Chunk, Keys
from framework.memory.relabel import Hindsight
from framework.memory.sum_tree import SumTree

_NOT_LEARNED_FROM = ("end", "valid")
_OF_THE_SUCCESSOR = ("next_obs", "next_action_mask")
_MOST_AT_ONCE = 64
"""Minibatches of one chunk: enough that drawing them costs little, few enough to stay small."""


class Replay:
    """Uniform or prioritised. n-step returns are folded when sampling, by index arithmetic on the ring."""

    def __init__(self, spec: ReplaySpec, rng: np.random.Generator, goal: Goal | None = None) -> None:
        if spec.relabel and (goal is None or spec.n_step > 1 or spec.sequence > 1):
            raise ValueError("relabelling takes the goal of the environment, and samples of a single step")
        self.spec, self.rng, self._goal = spec, rng, goal
        self._columns: Columns = {}
        """name -> [L, N, ...]"""
        self._flat: Columns = {}
        """The same memory seen as [L * N, ...]."""
        self._length = self._rows = 0
        self._added = 0
        """Steps of the vector environment added so far; the ring's next slot is this modulo L."""
        self._credit = 0.0
        """Updates owed."""
        self._journalled = 0
        self._incarnation: int | None = None
        self._tree: SumTree | None = None
        self._hindsight: Hindsight | None = None
        self._skipped = (*_NOT_LEARNED_FROM, *(("state",) if spec.sequence > 1 else ()))
        """Columns that samples do not have step by step."""

    # adding -----------------------------------------------------------------------------------------------

    def add(self, fragment: Fragment) -> None:
        columns = self._kept(fragment.columns)
        if not self._columns:
            self._allocate(columns)
        if self._added and self._incarnation != fragment.origin.incarnation:
            # A collector was lost in mid-episode: nothing may be chained across this point.
            self._columns["end"][(self._added - 1) % self._length] = True
            self._look_back()
            self._journalled = min(self._journalled, self._added - 1)
        self._incarnation = fragment.origin.incarnation
        self._write(columns, fragment.steps)
        if self._added * self._rows >= self.spec.warmup:
            fresh = columns["reward"].size if "valid" not in columns else np.count_nonzero(columns["valid"])
            self._credit += fresh * self.spec.updates_per_step

    def _kept(self, columns: Columns) -> Columns:
        """What learning reads: the two flags become a discount, and the end of a chain of steps."""
        kept = {name: value for name, value in columns.items() if name not in ("terminated", "truncated")}
        kept["discount"] = np.float32(self.spec.gamma) * ~columns["terminated"]
        kept["end"] = columns["terminated"] | columns["truncated"]
        return kept

    def _allocate(self, columns: Columns) -> None:
        """Room for the whole ring, shaped like these columns [T, N, ...]."""
        self._rows = columns["reward"].shape[1]
        self._length = max(1, self.spec.capacity // self._rows)
        try:
            self._columns = {
                name: np.zeros((self._length, *value.shape[1:]), value.dtype) for name, value in columns.items()
            }
        except MemoryError as error:
            raise JoystickError(
                f"a memory of {self.spec.capacity} transitions is more than this machine has; "
                "choose a smaller algo_cfg.buffer_size"
            ) from error
        self._flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in self._columns.items()}
        if self.spec.priority_alpha:
            self._tree = SumTree(self._length * self._rows)
        self._look_back()

    def _look_back(self) -> None:
        """Begin hindsight with what stands in the ring now."""
        if self._goal is not None and self.spec.relabel:
            steps = np.arange(self.oldest(), self._added)
            self._hindsight = Hindsight(self.spec, self._goal, self._columns["next_obs"])
            self._hindsight.added(self.oldest(), self._columns["end"][steps % self._length])

    def _write(self, columns: Columns, steps: int) -> None:
        at = self._added % self._length
        if steps == 1:
            slots: slice | np.ndarray = slice(at, at + 1)
        else:
            slots = (at + np.arange(steps)) % self._length
        for name, ring in self._columns.items():
            ring[slots] = columns[name]
        self._added += steps
        if self._hindsight is not None:
            self._hindsight.added(self._added - steps, columns["end"])
        if self._tree is not None:
            slots = np.arange(self._added - steps, self._added) % self._length
            places = slots[:, None] * self._rows + np.arange(self._rows)
            self._tree.set(places, self._tree.highest * columns.get("valid", np.ones(places.shape)))

    # sampling ---------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Transitions in the ring."""
        return min(self._added, self._length) * self._rows

    def take(self, fraction: float) -> Chunk | None:
        batches = min(int(self._credit), _MOST_AT_ONCE)
        if batches == 0 or min(self._added, self._length) < self.spec.sequence:
            return None
        self._credit -= batches
        shape = (batches, self.spec.batch_size)
        weights = None
        if self.spec.sequence > 1:
            return self._take_sequences(shape)
        if self._tree is None:
            place = self._draw(shape)
        else:
            place, weights = self._tree.draw(shape, self.rng, self._beta(fraction), self.size)
        columns = self._gather(place)
        step = self._serial(place)
        if self._hindsight is not None:
            self._hindsight.relabel(columns, place, step, self._added - 1, self.rng)
        if weights is not None:
            columns["weight"] = weights
        return Chunk(columns, Keys(place, step))

    def _draw(self, shape: tuple[int, int]) -> np.ndarray:
        place = self.rng.integers(0, self.size, shape)
        if "valid" in self._flat:
            while not (valid := self._flat["valid"][place]).all():
                place[~valid] = self.rng.integers(0, self.size, int((~valid).sum()))
        return place

    def _take_sequences(self, shape: tuple[int, int]) -> Chunk:
        """Pieces of the history of single rows, [K, L, B, ...], that begin anywhere."""
        length = self.spec.sequence
        step = self.rng.integers(self.oldest(), self._added - length + 1, shape)
        row = self.rng.integers(0, self._rows, shape)
        steps = step[:, None] + np.arange(length)[:, None]
        places = steps % self._length * self._rows + row[:, None]
        columns = self._gather(places)
        ended = self._flat["end"][places]
        columns["first"] = np.concatenate([np.zeros_like(ended[:, :1]), ended[:, :-1]], axis=1)
        if "state" in self._flat:
            columns["state"] = self._flat["state"][places[:, 0]]
        if "valid" in self._flat:
            columns["valid"] = self._flat["valid"][places]
        return Chunk(columns, Keys(places[:, 0], self._serial(places[:, 0])))

    def _beta(self, fraction: float) -> float:
        return self.spec.priority_beta + (1.0 - self.spec.priority_beta) * fraction

    def _gather(self, place: np.ndarray) -> Columns:
        if self.spec.n_step > 1:
            return self._gather_n_step(place)
        return {name: flat.take(place, axis=0) for name, flat in self._flat.items() if name not in self._skipped}

    def _gather_n_step(self, place: np.ndarray) -> Columns:
        """Rewards of up to n steps, then the value of the state after them. A window ends where its episode does,
        or at the newest step."""
        columns = {
            name: flat.take(place, axis=0)
            for name, flat in self._flat.items()
            if name not in (*self._skipped, *_OF_THE_SUCCESSOR, "discount", "reward")
        }
        newest = (self._added - 1) % self._length
        reward = self._flat["reward"].take(place)
        factor = np.full(place.shape, self.spec.gamma, np.float32)
        last = place
        for _ in range(self.spec.n_step - 1):
            going = ~(self._flat["end"].take(last) | (last // self._rows == newest))
            last = np.where(going, (last + self._rows) % len(self._flat["reward"]), last)
            reward += np.where(going, factor * self._flat["reward"].take(last), np.float32(0))
            factor = np.where(going, factor * np.float32(self.spec.gamma), factor)
        columns["reward"] = reward
        for name in _OF_THE_SUCCESSOR:
            if name in self._flat:
                columns[name] = self._flat[name].take(last, axis=0)
        # the last step's own discount is gamma, or 0 after a terminal state
        columns["discount"] = np.where(self._flat["discount"].take(last) > 0, factor, np.float32(0))
        return columns

    def _serial(self, place: np.ndarray) -> np.ndarray:
        """The step number, from 0, of what stands at each place now."""
        slot, at = place // self._rows, self._added % self._length
        return self._added - 1 - (at - 1 - slot) % self._length

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        if self._tree is None:
            return
        present = self._serial(keys.place) == keys.serial
        raised = (np.abs(priorities) + self.spec.priority_epsilon) ** self.spec.priority_alpha
        self._tree.set(keys.place[present], raised[present])

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> Tree:
        return {
            "added": self._added,
            "credit": self._credit,
            "incarnation": self._incarnation,
            "rng": stream_state(self.rng),
            "highest": None if self._tree is None else self._tree.highest,
        }

    def oldest(self) -> int:
        return max(0, self._added - self._length)

    def newest(self) -> int:
        return self._added

    def journal(self) -> Columns | None:
        first = max(self._journalled, self.oldest())
        slots = np.arange(first, self._added) % max(1, self._length)
        frame = {name: ring[slots] for name, ring in self._columns.items()}
        frame["first"] = np.array(first)
        if self._tree is not None:
            frame["leaf"], frame["priority"] = self._tree.changes()
        return frame

    def journalled(self) -> None:
        self._journalled = self._added
        if self._tree is not None:
            self._tree.forget_changes()

    def load_state(self, state: Tree, journal: list[Columns]) -> None:
        whole_from = reached = 0
        for frame in journal:
            if int(frame["first"]) > reached:
                whole_from = int(frame["first"])
            reached = self._restore(frame)
        self._added, self._credit = state["added"], state["credit"]
        if reached != self._added or whole_from > self.oldest():
            raise ValueError(f"its journal holds steps {whole_from} to {reached}, of {self.oldest()} to {self._added}")
        self._incarnation = state["incarnation"]
        restore_stream(self.rng, state["rng"])
        if self._columns:
            self._look_back()
        if self._tree is not None:
            self._tree.highest = state["highest"]

    def _restore(self, frame: Columns) -> int:
        """Put a frame's steps in their places. Returns the step after its last."""
        first = int(frame["first"])
        ring = {name: value for name, value in frame.items() if name not in ("first", "leaf", "priority")}
        if not ring:
            return first
        if not self._columns:
            self._allocate(ring)
        after = first + len(ring["reward"])
        slots = np.arange(first, after) % self._length
        for name, value in ring.items():
            self._columns[name][slots] = value
        if self._tree is not None:
            self._tree.set(frame["leaf"], frame["priority"])
        return after
