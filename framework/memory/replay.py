"""A memory of transitions, from which minibatches are drawn."""

from dataclasses import replace

import numpy as np

from algos.base import Tree, restore_stream, stream_state
from config.schema import ReplaySpec
from envs.base import Goal
from framework.fragment import Columns, Fragment
from framework.memory.arrivals import Arrivals
from framework.memory.chunk import MOST_AT_ONCE, Chunk, Keys
from framework.memory.hindsight import Hindsight
from framework.memory.ring import Rings
from framework.memory.sum_tree import SumTree

_NOT_LEARNED_FROM = ("end", "valid")
_OF_THE_SUCCESSOR = ("next_obs", "next_action_mask")
_OF_THE_FRAME = ("first", "after", "leaf", "priority")
"""What a frame of the journal holds besides steps."""


class Replay:
    """Uniform or prioritised, of one or several collectors. n-step returns are folded when sampling, by index
    arithmetic on the rings."""

    def __init__(
        self, spec: ReplaySpec, rng: np.random.Generator, goal: Goal | None = None, collectors: int = 1
    ) -> None:
        if spec.relabel and (goal is None or spec.n_step > 1 or spec.sequence > 1):
            raise ValueError("relabelling takes the goal of the environment, and samples of a single step")
        self.spec, self.rng, self._goal = spec, rng, goal
        self._rings = Rings(spec.capacity, collectors)
        self._arrivals = Arrivals(self._rings, spec.statistics)
        self._credit = 0.0
        """Updates owed."""
        self._journalled = np.zeros(collectors, np.int64)
        """Steps of each collector that the journal has."""
        self._offered: np.ndarray | None = None
        """Steps of each collector that it has once the last journal() is stored."""
        self._frames: list[tuple[int, np.ndarray]] = []
        """Of each frame of the journal: its position, and the steps of each collector until then."""
        self._tree: SumTree | None = None
        self._hindsight: list[Hindsight] = []
        """Of each ring, for a memory that relabels."""
        self._position = self._passed = 0
        """Where in the journal these rings began, and up to where nobody needs it any more."""
        self._skipped = (*_NOT_LEARNED_FROM, *(("state",) if spec.sequence > 1 else ()))
        """Columns that samples do not have step by step."""

    # adding -----------------------------------------------------------------------------------------------

    def add(self, fragment: Fragment) -> None:
        columns, rings, ring = self._kept(fragment.columns), self._rings, fragment.origin.worker
        if not rings.flat:
            self._allocate(columns)
        if rings.added[ring]:
            self._cut(ring, fragment.start["first"])
        first = rings.added[ring]
        rings.write(ring, columns)
        self._judge(ring, first, columns)
        if self.newest() * rings.rows >= self.spec.warmup:
            fresh = columns["reward"].size if "valid" not in columns else np.count_nonzero(columns["valid"])
            self._credit += fresh * self.spec.updates_per_step

    def _kept(self, columns: Columns) -> Columns:
        """What learning reads: the two flags become a discount, and the end of a chain of steps."""
        kept = {name: value for name, value in columns.items() if name not in ("terminated", "truncated")}
        kept["discount"] = np.float32(self.spec.gamma) * ~columns["terminated"]
        kept["end"] = columns["terminated"] | columns["truncated"]
        return kept

    def _allocate(self, columns: Columns) -> None:
        self._rings.allocate(columns)
        if self.spec.priority_alpha:
            self._tree = SumTree(len(self._rings.flat["reward"]))
        self._look_back()

    def _cut(self, ring: int, first: np.ndarray) -> None:
        """Rows that begin an episode now: if the one before did not come to its end (a collector was lost), nothing
        may be chained across this point all the same."""
        newest = self._rings.places(ring, self._rings.added[[ring]] - 1)[0]
        lost = newest[first & ~self._rings.flat["end"][newest]]
        if lost.size:
            self._rings.flat["end"][lost] = True
            self._look_back()
            self._journalled[ring] = min(self._journalled[ring], self._rings.added[ring] - 1)

    def _look_back(self) -> None:
        """Begin hindsight with what stands in the rings now."""
        if self._goal is None or not self.spec.relabel:
            return
        rings, self._hindsight = self._rings, []
        for ring in range(rings.count):
            self._hindsight.append(Hindsight(self.spec, self._goal, rings.of_ring("next_obs", ring)))
            oldest = int(rings.oldest[ring])
            steps = np.arange(oldest, rings.added[ring])
            self._hindsight[ring].added(oldest, rings.of_ring("end", ring)[steps % rings.length])

    def _judge(self, ring: int, first: int, columns: Columns) -> None:
        """New steps are in the ring: who keeps books on single steps, writes them down."""
        if self._hindsight:
            self._hindsight[ring].added(first, columns["end"])
        if self._tree is not None:
            places = self._rings.places(ring, np.arange(first, self._rings.added[ring]))
            self._tree.set(places, self._tree.highest * columns.get("valid", np.ones(places.shape)))

    # sampling ---------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Transitions held."""
        return self._rings.size

    def owed(self) -> int:
        return int(self._credit) if self._rings.pieces(self.spec.sequence) else 0

    def take(self, fraction: float, most: int = MOST_AT_ONCE) -> Chunk | None:
        batches = min(self.owed(), most)
        if batches == 0:
            return None
        self._credit -= batches
        shape = (batches, self.spec.batch_size)
        weights = None
        if self.spec.sequence > 1:
            return self._take_sequences(shape)
        if self._tree is None:
            place = self._draw(shape)
        else:
            beta = self.spec.priority_beta + (1.0 - self.spec.priority_beta) * fraction
            place, weights = self._tree.draw(shape, self.rng, beta, self.size)
        columns = self._gather(place)
        step = self._rings.serial(place)
        if self._hindsight:
            self._relabel(columns, place, step)
        if weights is not None:
            columns["weight"] = weights
        return Chunk(columns, Keys(place, step), arrived=self._arrivals.take())

    def _draw(self, shape: tuple[int, int]) -> np.ndarray:
        place = self._rings.choose(self.rng, shape)
        if "valid" in self._rings.flat:
            while not (valid := self._rings.flat["valid"][place]).all():
                place[~valid] = self._rings.choose(self.rng, (int((~valid).sum()),))
        return place

    def _relabel(self, columns: Columns, place: np.ndarray, step: np.ndarray) -> None:
        ring = self._rings.ring(place)
        chosen = self.rng.random(place.shape) < self.spec.relabel
        for number, hindsight in enumerate(self._hindsight):
            here = chosen & (ring == number)
            if here.any():
                local = place - number * self._rings.length * self._rings.rows
                hindsight.relabel(columns, here, local, step, int(self._rings.added[number]) - 1, self.rng)

    def _take_sequences(self, shape: tuple[int, int]) -> Chunk:
        """Pieces of the history of single rows, [K, L, B, ...], that begin anywhere."""
        rings, length = self._rings, self.spec.sequence
        begin = rings.choose(self.rng, shape, length)
        places = rings.ahead(begin[:, None], np.arange(length)[:, None])
        columns = self._gather(places)
        ended = rings.flat["end"][places]
        columns["first"] = np.concatenate([np.zeros_like(ended[:, :1]), ended[:, :-1]], axis=1)
        if "state" in rings.flat:
            columns["state"] = rings.flat["state"][begin]
        if "valid" in rings.flat:
            columns["valid"] = rings.flat["valid"][places]
        return Chunk(columns, Keys(begin, rings.serial(begin)), arrived=self._arrivals.take())

    def _gather(self, place: np.ndarray) -> Columns:
        if self.spec.n_step > 1:
            return self._gather_n_step(place)
        return {name: flat.take(place, axis=0) for name, flat in self._rings.flat.items() if name not in self._skipped}

    def _gather_n_step(self, place: np.ndarray) -> Columns:
        """Rewards of up to n steps, then the value of the state after them. A window ends where its episode does,
        or at the newest step."""
        rings, flat = self._rings, self._rings.flat
        columns = {
            name: column.take(place, axis=0)
            for name, column in flat.items()
            if name not in (*self._skipped, *_OF_THE_SUCCESSOR, "discount", "reward")
        }
        reward = flat["reward"].take(place)
        factor = np.full(place.shape, self.spec.gamma, np.float32)
        last = place
        for _ in range(self.spec.n_step - 1):
            going = ~(flat["end"].take(last) | rings.is_newest(last))
            last = np.where(going, rings.ahead(last), last)
            reward += np.where(going, factor * flat["reward"].take(last), np.float32(0))
            factor = np.where(going, factor * np.float32(self.spec.gamma), factor)
        columns["reward"] = reward
        for name in _OF_THE_SUCCESSOR:
            if name in flat:
                columns[name] = flat[name].take(last, axis=0)
        # the last step's own discount is gamma, or 0 after a terminal state
        columns["discount"] = np.where(flat["discount"].take(last) > 0, factor, np.float32(0))
        return columns

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        if self._tree is None:
            return
        present = self._rings.serial(keys.place) == keys.serial
        raised = (np.abs(priorities) + self.spec.priority_epsilon) ** self.spec.priority_alpha
        self._tree.set(keys.place[present], raised[present])

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> Tree:
        return {
            "added": self._rings.added.tolist(),
            "position": self._position,
            "credit": self._credit,
            "taken": self._arrivals.taken.tolist(),
            "rng": stream_state(self.rng),
            "highest": None if self._tree is None else self._tree.highest,
        }

    def oldest(self) -> int:
        while self._frames and (self._frames[0][1] <= self._rings.oldest).all():
            self._passed = self._frames.pop(0)[0]
        return self._passed

    def newest(self) -> int:
        return self._position + int(self._rings.added.sum())

    def journal(self) -> Columns | None:
        rings = self._rings
        first = np.maximum(self._journalled, rings.oldest)
        slots = [rings.slots(ring, np.arange(first[ring], rings.added[ring])) for ring in range(rings.count)]
        frame = {name: whole[np.concatenate(slots)] for name, whole in rings.steps.items()}
        frame["first"], frame["after"] = first, rings.added.copy()
        if self._tree is not None:
            frame["leaf"], frame["priority"] = self._tree.changes()
        self._offered = rings.added.copy()
        return frame

    def journalled(self) -> None:
        if self._offered is None:
            return
        self._journalled = self._offered
        self._frames.append((self.newest(), self._offered.copy()))
        if self._tree is not None:
            self._tree.forget_changes()

    def load_state(self, state: Tree, journal: list[Columns]) -> None:
        added = np.array(state["added"])
        if len(added) != self._rings.count:
            return self._load_rings_of_others(state, journal)
        self._position = self._passed = state["position"]
        whole_from, reached = np.zeros((2, len(added)), np.int64)
        for frame in journal:
            first, after = frame["first"], frame["after"]
            whole_from = np.where(first > reached, first, whole_from)
            reached = after
            self._restore(frame)
            self._frames.append((self._position + int(after.sum()), after))
        self._rings.added = added
        oldest = self._rings.oldest
        if (reached != added).any() or (whole_from > oldest).any():
            raise ValueError(f"its journal holds steps {whole_from} to {reached}, of {oldest} to {added}")
        self._offered = added.copy()
        self._credit = state["credit"]
        self._arrivals.taken = np.array(state.get("taken", added))
        restore_stream(self.rng, state["rng"])
        if self._rings.flat:
            self._look_back()
        if self._tree is not None:
            self._tree.highest = state["highest"]
        return None

    def _restore(self, frame: Columns) -> None:
        """Put a frame's steps in their places."""
        rings = self._rings
        steps = {name: value for name, value in frame.items() if name not in _OF_THE_FRAME}
        if not steps:
            return
        if not rings.flat:
            self._allocate(steps)
        ranges = zip(frame["first"].tolist(), frame["after"].tolist(), strict=True)
        slots = [rings.slots(ring, np.arange(first, after)) for ring, (first, after) in enumerate(ranges)]
        rings.put(np.concatenate(slots), steps)
        if self._tree is not None:
            self._tree.set(frame["leaf"], frame["priority"])

    def _load_rings_of_others(self, state: Tree, journal: list[Columns]) -> None:
        """The run goes on with another number of collectors: what is remembered moves to the rings that there are
        now, as far as there is room, and the journal is written anew from here."""
        other = Replay(replace(self.spec, relabel=0.0), self.rng, collectors=len(state["added"]))
        other.load_state(state, journal)
        self._position = self._passed = other.newest()
        self._credit = state["credit"]
        if not other._rings.flat:
            return
        self._allocate(other._rings.history(0))
        if self._tree is not None:
            self._tree.highest = state["highest"]  # what moves is learned from soon, as if it were new
        for ring in range(other._rings.count):
            columns, here = other._rings.history(ring), ring % self._rings.count
            if len(columns["end"]):
                columns["end"][-1] = True
                first = int(self._rings.added[here])
                self._rings.write(here, columns)
                self._judge(here, first, columns)
        if other._arrivals.taken.any():
            self._arrivals.taken = self._rings.added.copy()
